"""What every codec does, with a key or without one."""

from typing import Any

import numpy as np
import pytest

from sapefl_crypto.errors import FrameRejected, ValueRejected

Bench = Any  # of conftest.py
HERE = {"study": "s", "round_index": 3}
VECTOR = np.linspace(-1, 1, 20, dtype=np.float32)


def test_what_is_sealed_comes_back_to_the_letter(bench: Bench) -> None:
    blob = bench.codec.seal(VECTOR, **HERE, sender="a")
    np.testing.assert_array_equal(bench.codec.open(blob, **HERE, sender="a"), VECTOR)


@pytest.mark.parametrize("other", [{"study": "t"}, {"round_index": 4}, {"sender": "b"}], ids=str)
def test_a_sealed_model_does_not_pass_for_another(bench: Bench, other: dict[str, Any]) -> None:
    blob = bench.codec.seal(VECTOR, **HERE, sender="a")
    with pytest.raises(FrameRejected):
        bench.codec.open(blob, **({**HERE, "sender": "a"} | other))


def test_what_is_encrypted_comes_back_as_the_mean_of_one(bench: Bench) -> None:
    adder = bench.protection.adders(bench.study)(3)
    adder.add(bench.codec.encrypt(VECTOR, **HERE, sender="a"), 1.0, sender="a")
    np.testing.assert_allclose(bench.codec.decrypt(adder.finish().to_bytes(), **HERE), VECTOR, atol=1e-6)


@pytest.mark.parametrize("value", [8.01, -8.01, float("nan"), float("inf")])
def test_what_no_sum_can_hold_is_not_encrypted(bench: Bench, value: float) -> None:
    with pytest.raises(ValueRejected):
        bench.codec.encrypt(np.full(20, value, np.float32), **HERE, sender="a")


@pytest.mark.parametrize("score", [-0.1, 2.1, float("nan")])
def test_a_hidden_score_outside_its_range_is_not_encrypted(bench: Bench, score: float) -> None:
    with pytest.raises(ValueRejected):
        bench.codec.encrypt_weighted(VECTOR, score=score, max_score=2.0, **HERE, sender="a")
