"""The aggregate equals the plaintext weighted mean with the same integer weights, and bad frames leave no trace."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import (
    Aggregate,
    AggregateRejected,
    Aggregator,
    CohortKey,
    FrameRejected,
    HiddenAggregator,
    Parameters,
    ValueRejected,
    quantise_score,
)
from sapefl_crypto.frames import parse_frame, with_checksum

Make = Callable[..., Aggregator]
ABOUT = {"study": "s", "round_index": 3}


def float32_step(reference: np.ndarray) -> np.ndarray:
    return np.abs(reference) * 2.0**-24 + 1e-45


def assert_twins(key: CohortKey, vectors: np.ndarray, scores: list[float], max_score: float) -> None:
    """Ciphertext path and plaintext path side by side (Eq. 12 with integer weights)."""
    params, weights = key.params, [quantise_score(score, max_score, key.params.weight_bits) for score in scores]
    aggregator = Aggregator(params, **ABOUT, length=vectors.shape[1], max_score=max_score)
    for index, (vector, score) in enumerate(zip(vectors, scores, strict=True)):
        aggregator.add(key.encrypt(vector, **ABOUT, sender=str(index)), score)
    mean = key.decrypt(Aggregate.from_bytes(aggregator.finish().to_bytes()), **ABOUT)
    if not sum(weights):
        assert mean is None
        return
    reference = np.average(vectors.astype(np.float64), axis=0, weights=weights)
    assert mean is not None
    assert mean.dtype == np.float32
    assert (np.abs(mean - reference) <= params.max_error + float32_step(reference)).all()


@settings(max_examples=25, deadline=None)
@given(
    length=st.sampled_from([1, 2, 4087, 4088, 4089, 8177]),
    scores=st.lists(st.one_of(st.just(0.0), st.floats(0, 9)), min_size=1, max_size=10),
    magnitude=st.sampled_from([1e-6, 1e-2, 1.0, 8.0]),
    seed=st.integers(0, 2**32),
)
def test_ciphertext_and_plaintext_are_twins(
    key: CohortKey, length: int, scores: list[float], magnitude: float, seed: int
) -> None:
    vectors = np.random.default_rng(seed).uniform(-magnitude, magnitude, (len(scores), length)).astype(np.float32)
    assert_twins(key, vectors, scores, max_score=9.0)


def test_a_model_of_the_papers_size(key: CohortKey) -> None:
    vectors = np.random.default_rng(5).normal(0, 0.05, (2, 1_228_038)).astype(np.float32)
    assert_twins(key, vectors, [0.3, 0.9], max_score=1.0)


def test_all_at_the_bound_with_full_weight_does_not_overflow() -> None:
    """The worst the plan allows: every client, every value, every weight at its maximum and of one sign."""
    params = Parameters(max_clients=3, weight_bits=20)
    vectors = np.full((3, 4088), 8.0, np.float32)
    assert_twins(CohortKey.generate(params), vectors, [1.0] * 3, max_score=1.0)
    assert_twins(CohortKey.generate(params), -vectors, [1.0] * 3, max_score=1.0)


def test_a_full_cohort_of_128_keeps_the_wider_promise() -> None:
    params = Parameters(max_clients=128)
    rng = np.random.default_rng(6)
    vectors = rng.uniform(-8, 8, (128, 50)).astype(np.float32)
    assert_twins(CohortKey.generate(params), vectors, list(rng.uniform(0, 127, 128)), max_score=127.0)


def test_larger_rings_work_too() -> None:
    params = Parameters(max_clients=4, ring_degree=8192)
    vectors = np.random.default_rng(7).normal(0, 1, (3, 8200)).astype(np.float32)
    assert_twins(CohortKey.generate(params), vectors, [0.1, 0.5, 1.0], max_score=1.0)


def test_three_numbers_by_hand(key: CohortKey, aggregator: Make) -> None:
    """(1·[2, 0, -4] + 3·[6, 0, 4]) / 4 = [5, 0, 2]."""
    agg = aggregator(3, max_score=4.0)
    agg.add(key.encrypt(np.array([2, 0, -4], np.float32), **ABOUT, sender="a"), 1.0)
    agg.add(key.encrypt(np.array([6, 0, 4], np.float32), **ABOUT, sender="b"), 3.0)
    aggregate = agg.finish()
    assert aggregate.weights == {"a": 4096, "b": 12288}
    assert key.decrypt(aggregate, **ABOUT) == pytest.approx([5, 0, 2], abs=1e-6)


def test_zero_scores_are_left_out_and_all_zero_says_unchanged(key: CohortKey, aggregator: Make) -> None:
    agg = aggregator(2)
    for sender in "ab":
        agg.add(key.encrypt(np.ones(2, np.float32), **ABOUT, sender=sender), 0.0)
    aggregate = agg.finish()
    assert (aggregate.unchanged, aggregate.weights, aggregate.payload) == (True, {}, b"")
    assert key.decrypt(aggregate, **ABOUT) is None


def test_nobody_came_says_unchanged(key: CohortKey, aggregator: Make) -> None:
    assert key.decrypt(aggregator(7).finish(), **ABOUT) is None


def test_a_sender_counts_once_even_with_a_zero_score(key: CohortKey, aggregator: Make) -> None:
    agg = aggregator(2)
    first, second = (key.encrypt(np.ones(2, np.float32), **ABOUT, sender="a") for _ in range(2))
    agg.add(first, 0.0)
    with pytest.raises(FrameRejected, match="'a', round 3: already counted"):
        agg.add(second, 1.0)


@pytest.mark.parametrize("score", [math.nan, math.inf, -1.0, 1.5])
def test_an_impossible_score_names_sender_and_round(key: CohortKey, aggregator: Make, score: float) -> None:
    with pytest.raises(FrameRejected, match="'a', round 3: a score"):
        aggregator(2).add(key.encrypt(np.ones(2, np.float32), **ABOUT, sender="a"), score)


def test_a_frame_must_come_from_whom_the_transport_says(key: CohortKey, aggregator: Make) -> None:
    with pytest.raises(FrameRejected, match="connection of 'b'"):
        aggregator(2).add(key.encrypt(np.ones(2, np.float32), **ABOUT, sender="a"), 1.0, sender="b")


def test_more_senders_than_planned_are_refused(aggregator: Make) -> None:
    key = CohortKey.generate(Parameters(max_clients=1))
    agg = Aggregator(key.params, **ABOUT, length=2, max_score=1.0)
    agg.add(key.encrypt(np.ones(2, np.float32), **ABOUT, sender="a"), 1.0)
    with pytest.raises(FrameRejected, match="plan holds 1"):
        agg.add(key.encrypt(np.ones(2, np.float32), **ABOUT, sender="b"), 1.0)


def test_the_round_goes_on_after_a_frame_seal_cannot_use(key: CohortKey, aggregator: Make) -> None:
    """The last chunk of a two-chunk frame holds a number above the prime; the first must not have been added."""
    vector, agg = np.ones(5000, np.float32), aggregator(5000)
    agg.add(key.encrypt(vector, **ABOUT, sender="a"), 1.0)
    good = key.encrypt(vector, **ABOUT, sender="b")
    size = key.params.fresh_chunk_bytes
    broken = bytearray(good[:-4])
    broken[-size:-64] = b"\xff" * (size - 64)
    with pytest.raises(FrameRejected, match=r"'b', round 3: not a ciphertext \(a number is not below the prime"):
        agg.add(with_checksum(bytes(broken)), 1.0)
    agg.add(good, 1.0)
    assert key.decrypt(agg.finish(), **ABOUT) == pytest.approx(vector, abs=1e-7)


def test_a_public_bound_is_needed(params: Parameters) -> None:
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueRejected, match="max_score"):
            Aggregator(params, **ABOUT, length=2, max_score=wrong)


@settings(max_examples=10, deadline=None)
@given(scores=st.lists(st.floats(0.05, 9), min_size=1, max_size=10), seed=st.integers(0, 2**32))
def test_hidden_scores_give_the_exactly_weighted_mean(key: CohortKey, scores: list[float], seed: int) -> None:
    vectors = np.random.default_rng(seed).uniform(-1, 1, (len(scores), 300)).astype(np.float32)
    agg = HiddenAggregator(key.params, **ABOUT, length=300)
    for index, (vector, score) in enumerate(zip(vectors, scores, strict=True)):
        agg.add(key.encrypt_weighted(vector, score=score, max_score=9.0, **ABOUT, sender=str(index)))
    mean = key.decrypt(agg.finish(), **ABOUT)
    reference = np.average(vectors.astype(np.float64), axis=0, weights=scores)
    amplified = 2 * key.params.max_error / (np.mean(scores) / 9.0)
    assert mean is not None
    assert (np.abs(mean - reference) <= amplified + float32_step(reference)).all()


def test_hidden_and_weighed_frames_do_not_mix(key: CohortKey, aggregator: Make) -> None:
    vector = np.ones(2, np.float32)
    hidden = HiddenAggregator(key.params, **ABOUT, length=2)
    with pytest.raises(FrameRejected, match="WEIGHTED message in a HIDDEN round"):
        hidden.add(key.encrypt(vector, **ABOUT, sender="a"))
    weighed = key.encrypt_weighted(vector, score=1.0, max_score=1.0, **ABOUT, sender="a")
    with pytest.raises(FrameRejected, match="HIDDEN message in a WEIGHTED round"):
        aggregator(2).add(weighed, 1.0)
    hidden.add(weighed)
    assert hidden.finish().weights == {"a": 1}


def test_hidden_zero_scores_are_not_visible_but_all_zero_changes_nothing(key: CohortKey) -> None:
    agg = HiddenAggregator(key.params, **ABOUT, length=2)
    for sender in "ab":
        vector = np.ones(2, np.float32)
        agg.add(key.encrypt_weighted(vector, score=0.0, max_score=1.0, **ABOUT, sender=sender), sender=sender)
    assert not agg.finish().unchanged
    assert key.decrypt(agg.finish(), **ABOUT) is None


def test_relabelling_a_frame_is_noticed_by_the_sites(key: CohortKey, params: Parameters, aggregator: Make) -> None:
    """The server cannot tell that 'b' is 'a' renamed; the tags can."""
    agg = aggregator(2)
    data = key.encrypt(np.ones(2, np.float32), **ABOUT, sender="a")
    # a frame is parsed for an occasion, which a server does not show
    renamed = replace(parse_frame(data, params, agg._occasion), sender="b")
    agg.add(renamed.to_bytes(), 1.0)
    with pytest.raises(AggregateRejected, match="tags"):
        key.decrypt(agg.finish(), **ABOUT)
