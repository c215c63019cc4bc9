"""Encrypted sums of counts: the integers themselves, and never over too few sites."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import ClaimPolicy, CohortKey, Parameters
from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.sums import SumOfCounts, counts_of, limbs_of

PARAMS = Parameters.exact(max_clients=5)
KEY = CohortKey.generate(PARAMS)
LARGEST = (1 << 44) - 1


def plan(entries: int, least: int = 2) -> SumOfCounts:
    return SumOfCounts(params=PARAMS, study="t", index=1, entries=entries, least=least)


def test_the_total_is_the_sum_to_the_last_unit() -> None:
    """The twin: integers added in the clear, the largest among them."""
    rng = np.random.default_rng(0)
    counts = {f"s{k}": rng.integers(0, LARGEST, 700) for k in range(5)}
    counts["s0"][:3] = (0, 1, LARGEST)
    codec, asked = CkksCodec(KEY), plan(700)
    total = asked.added({name: asked.protected(codec, one, name) for name, one in counts.items()})
    assert np.array_equal(asked.opened(codec, total), sum(counts.values()))


@given(st.lists(st.lists(st.integers(0, LARGEST), min_size=3, max_size=3), min_size=1, max_size=128))
@settings(deadline=None, max_examples=60)
def test_limbs_survive_a_mean_of_32_bits(values: list[list[int]]) -> None:
    params = Parameters.exact(max_clients=128)
    counts = np.array(values, dtype=np.int64)
    mean = np.mean([limbs_of(one, params).astype(np.float64) for one in counts], axis=0).astype(np.float32)
    assert np.array_equal(counts_of(mean, len(counts), params), counts.sum(axis=0))


def test_no_sum_over_too_few_sites_is_made_or_opened() -> None:
    codec, asked = CkksCodec(KEY), plan(3, least=3)
    frames = {name: asked.protected(codec, np.arange(3), name) for name in ("a", "b")}
    with pytest.raises(BadInput, match="2 sites sent counts, a sum is made over at least 3"):
        asked.added(frames)
    forged = plan(3).added(frames)
    with pytest.raises(BadInput, match="not opened"):
        asked.opened(codec, forged)
    with pytest.raises(AggregateRejected, match="minimum cohort"):
        asked.opened(CkksCodec(KEY, ClaimPolicy(min_cohort=3)), forged)


@pytest.mark.parametrize("counts", [np.array([-1, 0]), np.array([1 << 48, 0]), np.array([1])])
def test_counts_that_cannot_be_are_refused(counts: np.ndarray) -> None:
    with pytest.raises(BadInput, match="expected 2 counts"):
        plan(2).protected(CkksCodec(KEY), counts, "a")


def test_a_sum_of_another_occasion_is_refused() -> None:
    codec, asked = CkksCodec(KEY), plan(2)
    total = asked.added({name: asked.protected(codec, np.arange(2), name) for name in ("a", "b")})
    with pytest.raises(AggregateRejected):
        SumOfCounts(params=PARAMS, study="t", index=2, entries=2, least=2).opened(codec, total)
