"""The floor under a step, by hand and for a network that can be counted."""

import pytest

from secure_sapefl.experiments.bench.floor import FloorRow, Network, floors, to_json

TINY = Network(name="tiny", shape=(4,), preset="linear", sites=2, rows=32)


def test_shares_by_hand() -> None:
    row = FloorRow(model="m", gigaflops=10, seconds=2, in_products=0.8, best=20)
    assert row.floor_share == 0.25
    assert row.most_gained == 1.25


def test_products_of_a_linear_model_are_counted_and_timed() -> None:
    """Forward and the weights' gradient: 2 products of 2 operations for each of 4 x 10 weights and 64 rows."""
    said: list[str] = []
    (row,) = floors(said.append, (TINY,), repeats=1)
    assert row.gigaflops * 1e9 == pytest.approx(2 * 2 * 4 * 10 * 64)
    assert 0 < row.in_products < 1
    assert to_json([row])["floor"][0]["model"] == "tiny"
    assert said == ["profiling 2 sites, tiny"]
