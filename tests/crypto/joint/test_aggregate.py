"""Sums and claims travel, and damage to them is noticed."""

from dataclasses import replace

import pytest

from sapefl_crypto import AggregateRejected, Claim
from sapefl_crypto.joint.aggregate import JointAggregate, JointClaim
from sapefl_crypto.joint.certificate import Certificate


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(4)
    cohort.send(vectors, [0.5, 1.0, 0.7, 0.9])
    return cohort


def test_aggregates_claims_and_certificates_travel(cohort) -> None:
    aggregate = cohort.aggregate()
    assert JointAggregate.from_bytes(aggregate.to_bytes()) == aggregate
    assert JointClaim.from_bytes(aggregate.claimed.to_bytes()) == aggregate.claimed
    certificate = cohort.certify(aggregate)
    assert Certificate.from_bytes(certificate.to_bytes()) == certificate


def test_damaged_messages_of_the_server_are_refused(cohort) -> None:
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    for parse, data in (
        (JointAggregate.from_bytes, aggregate.to_bytes()),
        (JointClaim.from_bytes, aggregate.claimed.to_bytes()),
        (Certificate.from_bytes, certificate.to_bytes()),
    ):
        for kept in (*range(0, min(len(data), 400), 7), len(data) - 1):
            with pytest.raises(AggregateRejected):
                parse(data[:kept])
        with pytest.raises(AggregateRejected):
            parse(data + b"x")
    damaged = bytearray(aggregate.to_bytes())
    damaged[5000] ^= 1
    with pytest.raises(AggregateRejected, match="damaged"):
        JointAggregate.from_bytes(bytes(damaged))


def test_a_claim_that_no_honest_server_makes_is_refused(cohort) -> None:
    claimed = cohort.aggregate().claimed
    first, *others = claimed.claim.parts
    for parts, said in (
        ((replace(first, weight=0), *others), "a weight is not between 1 and 32"),
        ((replace(first, weight=33), *others), "a weight is not between 1 and 32"),
        ((first, first, *others), "a sender is counted twice"),
        ((first, replace(first, sender="z"), *others), "5 senders, planned for 4"),
    ):
        with pytest.raises(AggregateRejected, match=said):
            replace(claimed, claim=Claim(parts)).check(cohort.about)
