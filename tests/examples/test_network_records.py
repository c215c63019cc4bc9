"""The hospitals' exported records make the very rows that the simulation trains and tests on."""

from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.config import Config, read_toml
from secure_sapefl.data import Rows
from secure_sapefl.data.datasets.heart import HOSPITALS
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.site.data import federation
from secure_sapefl.study.new import new_study

OUT_OF_RANGE = 2  # patients whose cholesterol the export moves into the study's range, and perhaps across the split


@pytest.mark.usefixtures("data")
def test_deployed_hospitals_hold_the_simulations_rows(tmp_path: Path) -> None:
    network = import_module("heart_hospitals.network")
    network.write_records(tmp_path / "records")
    keys = [SiteIdentity.generate(name).public for name in ("coordinator", *HOSPITALS)]
    study = new_study(read_toml(network.HERE / "draft.toml"), keys[0], keys[1:])
    deployed = federation(study, {name: tmp_path / "records" / f"{name}.csv" for name in HOSPITALS})
    simulated = federation_of(Config.load(network.SIMULATION))
    moved = 0
    for mine, theirs in zip(deployed.clients, simulated.clients, strict=True):
        assert mine.name == theirs.name
        assert rows(mine.train) + rows(mine.test) == rows(theirs.train) + rows(theirs.test)
        moved += (rows(mine.train) - rows(theirs.train)).total() + (rows(mine.test) - rows(theirs.test)).total()
    assert moved <= OUT_OF_RANGE


def rows(found: Rows) -> Counter[tuple[float, ...]]:
    """To the digits that a text file keeps of a number the model sees."""
    return Counter((*np.round(x, 4).tolist(), float(y)) for x, y in zip(found.X, found.y, strict=True))
