"""The runs that are compared with an older checkout can be made by this one."""

import against
import pytest

from secure_sapefl import Config
from secure_sapefl.data import DATASETS


@pytest.mark.parametrize("run", against.RUNS)
def test_every_run_is_one_of_today(run: str) -> None:
    assert Config.model_validate(against.RUNS[run]).dataset in DATASETS
