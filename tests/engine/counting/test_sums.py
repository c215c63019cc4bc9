"""A sum of counts in a simulation: the same integers under every protection."""

from typing import Literal

import numpy as np
import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.counting.sums import counting_round, summed
from secure_sapefl.errors import BadInput

COUNTS = {name: np.array([k, 10**k, 7]) for k, name in enumerate("abcd")}


@pytest.mark.parametrize(("protection", "keys"), [("plaintext", "shared"), ("ckks", "shared"), ("ckks", "joint")])
def test_every_protection_gives_the_same_integers(
    protection: Literal["ckks", "plaintext"], keys: Literal["shared", "joint"]
) -> None:
    study = counting_round(Config(keys=keys), "t", tuple(COUNTS), entries=3)
    found = summed(COUNTS, study, protection)
    assert found.totals.tolist() == [6, 1111, 28]
    assert found.bytes_up > 0


def test_no_sum_of_one_site() -> None:
    study = counting_round(Config(), "t", ("a",), entries=3)
    with pytest.raises(BadInput, match="No sum of the sites' counts was made: 1 sites sent"):
        summed({"a": COUNTS["a"]}, study, "plaintext")
