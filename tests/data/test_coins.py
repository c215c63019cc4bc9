"""Keyed coins: fair, a record's own, and the same wherever the record stands."""

import numpy as np
import pytest

from secure_sapefl.data.coins import Coins, canonical
from secure_sapefl.data.streams import DataPurpose


def test_coins_are_fair_and_their_own() -> None:
    coins = Coins.from_seed(3, [bytes([k % 250, k // 250]) for k in range(4000)])
    drawn = [coins.thrown(DataPurpose.SPLIT, 0), coins.thrown(DataPurpose.SPLIT, 1), coins.thrown(DataPurpose.SAMPLE)]
    for thrown in drawn:
        assert np.histogram(thrown, 10, (0, 1))[0] == pytest.approx(400, abs=90)
    assert abs(np.corrcoef(drawn) - np.eye(3)).max() < 0.06
    assert np.array_equal(drawn[0], coins.thrown(DataPurpose.SPLIT, 0))


def test_equal_records_throw_coins_of_their_own() -> None:
    one, *others = Coins.from_seed(0, [b"twin"] * 50).thrown(DataPurpose.SPLIT, 0)
    assert len({one, *others}) == 50
    assert np.array_equal(Coins.from_seed(0, [b"twin"] * 49).thrown(DataPurpose.SPLIT, 0), [one, *others[:-1]])


def test_equal_values_are_equal_bytes() -> None:
    here, there = np.array([[0.0, np.nan, 1.5]]), np.array([[-0.0, -np.nan, 1.5]], dtype=">f4")
    assert canonical(here).tobytes() == canonical(there).tobytes()
    assert canonical(np.array([[1]], ">i2")).tobytes() == canonical(np.array([[1]], "<i2")).tobytes()
