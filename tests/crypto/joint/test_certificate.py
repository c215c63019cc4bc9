"""A quorum on exactly one claim, or no answer."""

from dataclasses import replace

import pytest

from sapefl_crypto import AggregateRejected
from sapefl_crypto.joint.certificate import Certificate

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


def test_no_answer_without_a_quorum_on_exactly_this_claim(cohort) -> None:
    aggregate = cohort.aggregate()
    claimed, certificate = aggregate.claimed, cohort.certify(aggregate)
    two = Certificate(digest=claimed.digest, signatures={n: certificate.signatures[n] for n in "ab"})
    strangers = {"e": certificate.signatures["a"], "f": certificate.signatures["b"]}
    swapped = {"a": certificate.signatures["a"], "b": certificate.signatures["a"], "c": certificate.signatures["b"]}
    for bad in (two, replace(two, signatures=two.signatures | strangers), replace(two, signatures=swapped)):
        with pytest.raises(AggregateRejected, match="3 are needed"):
            cohort.members["a"].answer(claimed, bad)
        with pytest.raises(AggregateRejected, match="certificate"):
            cohort.open(aggregate, bad, [])
    other = cohort.aggregate(["a", "b", "c", "d"])
    with pytest.raises(AggregateRejected, match="another claim"):
        cohort.members["a"].answer(other.claimed, certificate)
    with pytest.raises(AggregateRejected, match="comes without one"):
        cohort.open(aggregate, None, [])
