import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import (
    AggregateRejected,
    Aggregator,
    Claim,
    ClaimPolicy,
    CohortKey,
    OwnPart,
    Parameters,
    ValueRejected,
    quantise_score,
)
from sapefl_crypto.claims import ClaimedPart
from sapefl_crypto.frames import sender_and_nonce
from sapefl_crypto.occasion import Kind


def claim(**weights: int) -> Claim:
    return Claim(
        tuple(ClaimedPart(sender=sender, weight=weight, nonce=bytes(16)) for sender, weight in weights.items())
    )


@pytest.mark.parametrize(
    ("score", "weight"), [(0.0, 0), (1e-12, 1), (5.0, 8192), (10.0, 16384), (10.000001, 16384), (1 / 3, 546)]
)
def test_weights_by_hand(score: float, weight: int) -> None:
    assert quantise_score(score, 10.0, 14) == weight


@given(st.floats(0, 1), st.floats(0, 1))
def test_weights_keep_the_order_of_scores(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert quantise_score(low, 1.0, 14) <= quantise_score(high, 1.0, 14) <= 2**14


@given(st.floats(2.0**-13, 1.0))
def test_a_weight_is_within_half_a_step_of_its_score(score: float) -> None:
    assert abs(quantise_score(score, 1.0, 14) / 2**14 - score) <= 2.0**-15


@pytest.mark.parametrize(
    ("score", "max_score"),
    [(-0.1, 1), (1.1, 1), (math.nan, 1), (math.inf, 1), (0.5, 0), (0.5, -1), (0.5, math.nan), (0.5, math.inf)],
)
def test_impossible_scores_are_refused(score: float, max_score: float) -> None:
    with pytest.raises(ValueRejected):
        quantise_score(score, max_score, 14)


def test_shares_are_weights_over_their_sum() -> None:
    assert claim(a=1, b=3).shares == {"a": 0.25, "b": 0.75}


@pytest.mark.parametrize(
    ("policy", "check"),
    [
        (ClaimPolicy(min_cohort=4), "minimum cohort"),
        (ClaimPolicy(max_share=0.5), "maximum share"),
        (ClaimPolicy(min_effective_cohort=2.0), "effective cohort"),
        (ClaimPolicy(max_weight_ratio=7.9), "weight ratio"),
    ],
)
def test_a_skewed_or_small_claim_is_refused_by_name(policy: ClaimPolicy, check: str) -> None:
    """Shares 0.8, 0.1, 0.1: an effective cohort of 1 / 0.66 = 1.52."""
    with pytest.raises(AggregateRejected) as caught:
        policy.check(claim(a=8, b=1, c=1), Kind.WEIGHTED, 14)
    assert caught.value.check == check


def test_a_fair_claim_passes_rules_it_just_meets() -> None:
    ClaimPolicy(min_cohort=3, max_share=1 / 3, min_effective_cohort=3.0).check(claim(a=2, b=2, c=2), Kind.WEIGHTED, 14)
    ClaimPolicy(max_weight_ratio=4.0).check(claim(a=2, b=3, c=8), Kind.WEIGHTED, 14)


def test_an_unchanged_round_breaks_no_rule() -> None:
    policy = ClaimPolicy(min_cohort=3, max_share=0.1, min_effective_cohort=3.0, max_weight_ratio=1.0)
    policy.check(Claim(), Kind.WEIGHTED, 14)


def test_an_exact_sum_under_weights_1_and_200_is_two_single_values_and_can_be_refused() -> None:
    """The third site subtracts what it sent itself; a division with remainder does the rest."""
    key, about = CohortKey.generate(Parameters.exact(max_clients=3)), {"study": "s", "round_index": 0}
    step, rng = 2.0**-key.params.grid_bits, np.random.default_rng(0)
    sent = {name: rng.integers(-99, 100, 50) for name in ("light", "heavy")}
    top = 2**key.params.weight_bits
    adder = Aggregator(key.params, **about, length=50, max_score=top)
    for name, weight in (("light", 1), ("heavy", 200)):
        adder.add(key.encrypt((sent[name] * step).astype(np.float32), **about, sender=name), weight)
    total = adder.finish()
    mean = key.decrypt(total, **about)
    assert mean is not None
    whole = np.rint(mean.astype(np.float64) * 201 / step)
    heavy = np.rint(whole / 200)
    np.testing.assert_array_equal(heavy, sent["heavy"])
    np.testing.assert_array_equal(whole - 200 * heavy, sent["light"])
    with pytest.raises(AggregateRejected, match="weight ratio"):
        key.decrypt(total, **about, policy=ClaimPolicy(max_weight_ratio=100.0))


@pytest.fixture
def own(key: CohortKey) -> OwnPart:
    frame = key.encrypt(np.zeros(4, np.float32), study="s", round_index=0, sender="me")
    return OwnPart(frame=frame, score=0.5, max_score=1.0)


def claiming(own: OwnPart, weight: int) -> Claim:
    sender, nonce = sender_and_nonce(own.frame)
    return Claim((ClaimedPart(sender=sender, weight=weight, nonce=nonce),))


def test_own_weight_must_be_exactly_the_quantised_score(own: OwnPart) -> None:
    policy = ClaimPolicy(own=own)
    policy.check(claiming(own, 8192), Kind.WEIGHTED, 14)
    for wrong in (8191, 8193):
        with pytest.raises(AggregateRejected, match="own weight"):
            policy.check(claiming(own, wrong), Kind.WEIGHTED, 14)


def test_an_older_frame_in_my_name_is_not_mine(own: OwnPart) -> None:
    with pytest.raises(AggregateRejected, match="another frame"):
        ClaimPolicy(own=own).check(claim(me=8192), Kind.WEIGHTED, 14)


def test_being_left_out_is_an_error_unless_the_site_allows_it(own: OwnPart) -> None:
    for absent in (claim(other=1), Claim()):
        with pytest.raises(AggregateRejected, match="left out"):
            ClaimPolicy(own=own).check(absent, Kind.WEIGHTED, 14)
        lenient = OwnPart(frame=own.frame, score=0.5, max_score=1.0, may_be_left_out=True)
        ClaimPolicy(own=lenient).check(absent, Kind.WEIGHTED, 14)


def test_a_zero_score_expects_to_be_absent(own: OwnPart) -> None:
    zero = ClaimPolicy(own=OwnPart(frame=own.frame, score=0.0, max_score=1.0))
    zero.check(claim(other=1), Kind.WEIGHTED, 14)
    with pytest.raises(AggregateRejected, match="own weight"):
        zero.check(claiming(own, 1), Kind.WEIGHTED, 14)


def test_with_hidden_scores_every_frame_counts_once(own: OwnPart) -> None:
    ClaimPolicy(own=own, max_share=0.1).check(claiming(own, 1), Kind.HIDDEN, 14)
