"""One joint round after the other: the mean comes out exactly, whatever the weights and whoever is missing."""

from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, Claim, quantise_score


def exact_mean(cohort, vectors, scores):
    """The plaintext twin: the same numbers on the same grid, weighed by the same whole weights."""
    plan = cohort.about.plan
    weights = np.array([quantise_score(score, 1.0, plan.weight_bits) for score in scores], np.float64)
    total = sum(w * plan.on_grid(vector.astype(np.float64)) for w, vector in zip(weights, vectors, strict=True))
    return (total / weights.sum()).astype(np.float32)


@pytest.mark.parametrize(("sites", "length"), [(4, 1), (4, 100), (7, 4088), (5, 4089), (3, 17 * 4088)])
def test_the_mean_is_bit_for_bit_the_one_in_the_clear(make_cohort, sites, length) -> None:
    rng = np.random.default_rng(length)
    vectors, scores = rng.normal(0, 0.02, (sites, length)).astype(np.float32), rng.uniform(0.3, 1, sites)
    cohort = make_cohort(sites, length=length)
    assert np.array_equal(cohort.run(vectors, scores), exact_mean(cohort, vectors, scores))


SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


def test_an_empty_claim_is_not_signed_and_says_unchanged(cohort) -> None:
    empty = replace(cohort.aggregate(), claimed=replace(cohort.aggregate().claimed, claim=Claim()), payload=b"")
    with pytest.raises(AggregateRejected, match="needs no committee"):
        cohort.members["a"].endorse(empty.claimed)
    assert cohort.open(empty, None, []).mean is None
