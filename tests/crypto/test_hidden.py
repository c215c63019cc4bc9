"""Sums of updates that sites have weighed themselves: exact on a grid, and what they still show of the shares."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import ClaimPolicy, CohortKey, HiddenAggregator, Parameters
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.hidden import hidden_mean, weighed

ABOUT = {"study": "s", "round_index": 3}
PLAN = Parameters.exact(max_clients=10)


@pytest.fixture(scope="module")
def exact() -> CohortKey:
    return CohortKey.generate(PLAN)


def test_what_a_site_encrypts_worked_by_hand() -> None:
    """Share 1/4 and a bound of 8: a quarter of the vector, then 8/4 and 8/16."""
    assert weighed(np.array([1.0, -4.0]), 0.25, PLAN).tolist() == [0.25, -1.0, 2.0, 0.5]


def test_the_mean_worked_by_hand() -> None:
    """Shares 1 and 1/2 of 3 and 0: 3 / 1.5 = 2; (1.5)² / 1.25 = 1.8 sites' worth of mixing."""
    sums = weighed(np.array([3.0]), 1.0, PLAN) + weighed(np.array([0.0]), 0.5, PLAN)
    found = hidden_mean(sums, 2, PLAN)
    assert found is not None
    assert found.vector.tolist() == [2.0]
    assert found.effective == pytest.approx(1.8, rel=1e-5)


@settings(max_examples=10, deadline=None)
@given(scores=st.lists(st.floats(0.01, 9), min_size=1, max_size=10), seed=st.integers(0, 2**32))
def test_on_a_grid_the_decrypted_mean_is_the_one_in_the_clear_bit_for_bit(
    exact: CohortKey, scores: list[float], seed: int
) -> None:
    vectors = np.random.default_rng(seed).uniform(-8, 8, (len(scores), 50)).astype(np.float32)
    agg, sums = HiddenAggregator(PLAN, **ABOUT, length=50), np.zeros(52)
    for index, (vector, score) in enumerate(zip(vectors, scores, strict=True)):
        agg.add(exact.encrypt_weighted(vector, score=score, max_score=9.0, **ABOUT, sender=str(index)))
        sums += weighed(PLAN.on_grid(vector.astype(np.float64)), score / 9.0, PLAN)
    clear, decrypted = hidden_mean(sums, len(scores), PLAN), exact.decrypt(agg.finish(), **ABOUT)
    assert clear is not None
    np.testing.assert_array_equal(decrypted, clear.vector)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8), st.floats(0.1, 1))
def test_no_share_above_the_allowed_one_passes(scores: list[float], allowed: float) -> None:
    shares = [score / sum(scores) for score in scores]
    effective = 1 / sum(share**2 for share in shares)
    if max(shares) > allowed * (1 + 1e-6):
        with pytest.raises(AggregateRejected, match="maximum share"):
            ClaimPolicy(max_share=allowed).check_mixing(len(shares), effective)


@pytest.mark.parametrize("senders", [2, 3, 10])
def test_equal_shares_pass_where_open_ones_would(senders: int) -> None:
    ClaimPolicy(max_share=1 / senders).check_mixing(senders, float(senders))


def test_the_bound_on_a_share_is_reached() -> None:
    """One large share and equal small ones: the worst that so many squares allow."""
    for senders, large in itertools.product((3, 5), (0.4, 0.7)):
        small = (1 - large) / (senders - 1)
        effective = 1 / (large**2 + (senders - 1) * small**2)
        ClaimPolicy(max_share=large).check_mixing(senders, effective)
        with pytest.raises(AggregateRejected, match="maximum share"):
            ClaimPolicy(max_share=math.nextafter(large, 0) - 1e-6).check_mixing(senders, effective)


def test_sites_refuse_a_hidden_sum_that_one_of_them_may_fill(exact: CohortKey) -> None:
    agg = HiddenAggregator(PLAN, **ABOUT, length=2)
    for sender, score in (("a", 1.0), ("b", 0.2), ("c", 0.2)):
        agg.add(exact.encrypt_weighted(np.ones(2, np.float32), score=score, max_score=1.0, **ABOUT, sender=sender))
    assert exact.decrypt(agg.finish(), **ABOUT, policy=ClaimPolicy(max_share=0.72)) is not None
    with pytest.raises(AggregateRejected, match=r"one site may hold up to 0\.714"):
        exact.decrypt(agg.finish(), **ABOUT, policy=ClaimPolicy(max_share=0.6))
