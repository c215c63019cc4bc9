"""Answers are of one member, for one claim, and for the sites alone."""

import numpy as np
import pytest

from sapefl_crypto import FrameRejected
from sapefl_crypto.joint.answers import read_answer, sealed_answer
from sapefl_crypto.joint.field import PRIME
from sapefl_crypto.joint.round_key import CHECKS, SHARED_NUMBERS
from sapefl_crypto.joint.sealing import SealingKey
from sapefl_crypto.keys.signing import sign_document

SITES, THRESHOLD = 7, 4
SCORES = [0.5, 1.0, 0.7, 0.9, 0.8, 0.6, 0.75]


@pytest.fixture
def cohort(make_cohort):
    return make_cohort(SITES, threshold=THRESHOLD)


def round_of(cohort, vectors):
    cohort.send(vectors[:SITES], SCORES)
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    return aggregate, certificate, dict(zip(cohort.names, cohort.answers(aggregate, certificate), strict=True))


def test_a_replayed_foreign_or_unreadable_answer_is_left_out_and_reported(cohort, make_cohort, vectors) -> None:
    aggregate, certificate, answers = round_of(cohort, vectors)
    later = make_cohort(SITES, threshold=THRESHOLD, round_index=4)
    _, _, later_answers = round_of(later, vectors)
    good = [answers[name] for name in "abcd"]
    altered = answers["e"][:-70] + bytes(6) + answers["e"][-64:]
    opened = cohort.open(aggregate, certificate, [*good, later_answers["e"], altered, b"nonsense"])
    assert opened.mean is not None
    assert [("another round" in said, "does not hold" in said, "version 1" in said) for said in opened.complaints] == [
        (True, False, False), (False, True, False), (False, False, True),
    ]  # fmt: skip


def test_an_answer_opens_for_the_sites_it_was_sealed_for_and_for_its_claim_alone(cohort, vectors) -> None:
    aggregate, _, answers = round_of(cohort, vectors)
    read = read_answer(answers["b"], cohort.about, aggregate.claimed, sealing=cohort.sealing["a"], reader="a")
    assert read.member == "b"
    assert read.total.shape == (SHARED_NUMBERS,)
    assert read.checks.shape == (SITES, CHECKS)
    with pytest.raises(FrameRejected):
        read_answer(answers["b"], cohort.about, aggregate.claimed, sealing=SealingKey(), reader="a")
    other = cohort.aggregate(["a", "b", "c", "d"]).claimed
    with pytest.raises(FrameRejected, match="made for another claim"):
        read_answer(answers["b"], cohort.about, other, sealing=cohort.sealing["a"], reader="a")


def test_numbers_that_are_none_of_the_field_are_refused_though_they_are_signed(cohort, vectors) -> None:
    aggregate, _, _ = round_of(cohort, vectors)
    readers = {"a": cohort.sealing["a"].public}
    for numbers, said in (
        (np.full(SHARED_NUMBERS + CHECKS * SITES, PRIME, np.uint64), "what its field does not"),
        (np.zeros(SHARED_NUMBERS, np.uint64), "wrong length"),
    ):
        answer = sealed_answer(cohort.about, aggregate.claimed, cohort.identities["b"], readers, numbers)
        with pytest.raises(FrameRejected, match=said):
            read_answer(answer, cohort.about, aggregate.claimed, sealing=cohort.sealing["a"], reader="a")


def test_a_site_that_does_not_sit_on_the_committee_has_no_answer(make_cohort, vectors) -> None:
    cohort = make_cohort(5, members=4)
    cohort.send(vectors[:5], SCORES[:5])
    claimed, readers = cohort.aggregate().claimed, {"a": cohort.sealing["a"].public}
    numbers = np.zeros(SHARED_NUMBERS + CHECKS * 5, np.uint64)
    answer = sealed_answer(cohort.about, claimed, cohort.identities["e"], readers, numbers)
    with pytest.raises(FrameRejected, match="from 'e': not from a member of this round's committee"):
        read_answer(answer, cohort.about, claimed, sealing=cohort.sealing["a"], reader="a")


def test_what_another_member_sealed_is_no_answer_of_ones_own(cohort, vectors) -> None:
    """A member that has computed nothing signs a copy: it opens under the name it was sealed with, and no other."""
    aggregate, _, answers = round_of(cohort, vectors)
    sealed = answers["b"].index(b"SPJM")  # right after the member's name
    message = answers["b"][: sealed - 1] + b"c" + answers["b"][sealed:-64]
    copied = message + sign_document(cohort.identities["c"], message, kind="joint answer")
    with pytest.raises(FrameRejected, match="does not open"):
        read_answer(copied, cohort.about, aggregate.claimed, sealing=cohort.sealing["a"], reader="a")
