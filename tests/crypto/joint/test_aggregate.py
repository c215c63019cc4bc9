"""Sums and claims travel, and damage to them is noticed."""

import pytest

from sapefl_crypto import AggregateRejected
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
