"""What binds every joint message to its round."""

import hashlib
from dataclasses import replace

import pytest

from sapefl_crypto import ValueRejected
from sapefl_crypto.joint.occasion import OCCASION_BYTES, JointOccasion

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


def test_a_committee_must_be_on_the_roster(cohort) -> None:
    with pytest.raises(ValueRejected, match="'z', which is not on the roster"):
        replace(cohort.about, committee=replace(cohort.about.committee, members=("a", "b", "z")))


def test_the_bytes_are_where_the_table_says(cohort) -> None:
    occasion = replace(cohort.about, attempt=2, purpose="statistics").occasion
    written = occasion.to_bytes()
    assert len(written) == OCCASION_BYTES == 100
    assert written[:32] == hashlib.sha256(b"s").digest()
    assert (written[32:48], written[48:64]) == (cohort.about.plan.digest, cohort.about.committee.digest)
    assert (int.from_bytes(written[64:72], "big"), int.from_bytes(written[72:76], "big")) == (3, 2)
    assert written[76:92] == b"statistics" + bytes(6)
    assert int.from_bytes(written[92:], "big") == 100
    assert JointOccasion.from_bytes(written) == occasion


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"study": "t"}, "another study"),
        ({"round_index": 4}, "another round"),
        ({"attempt": 1}, "another attempt"),
        ({"purpose": "scores"}, "another purpose"),
        ({"length": 99}, "another length"),
    ],
)
def test_every_difference_is_said_and_has_polynomials_of_its_own(cohort, change, said: str) -> None:
    own, other = cohort.about.occasion, replace(cohort.about, **change).occasion
    assert own.difference(own) is None
    assert said in str(own.difference(other))
    assert own.public_seed.reveal() != other.public_seed.reveal()


@pytest.mark.parametrize(
    "change", [{"round_index": -1}, {"attempt": -1}, {"length": 0}, {"purpose": ""}, {"purpose": "x" * 17}]
)
def test_a_round_that_cannot_be_is_refused(cohort, change) -> None:
    with pytest.raises(ValueRejected):
        replace(cohort.about, **change)
