"""A member keeps shares that their senders signed, signs one claim a round, and forgets."""

from dataclasses import replace

import pytest

from sapefl_crypto import AggregateRejected, Claim, FrameRejected, ValueRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.frames import signed_part
from sapefl_crypto.joint.member import MemoryLedger
from sapefl_crypto.joint.round_key import share_context
from sapefl_crypto.joint.sealing import seal

SCORES = [0.5, 1.0, 0.7, 0.9, 0.8]


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(5, members=4, threshold=3)
    cohort.send(vectors[:5], SCORES)
    return cohort


def changed_claim(claimed: JointClaim, **changes) -> JointClaim:
    first, *others = claimed.claim
    return replace(claimed, claim=Claim((replace(first, **changes), *others)))


def test_a_member_signs_one_claim_a_round_and_the_same_one_again(cohort) -> None:
    first, second = cohort.aggregate().claimed, cohort.aggregate(["a", "b", "c", "d"]).claimed
    member = cohort.members["a"]
    assert member.endorse(first) == member.endorse(first)
    with pytest.raises(AggregateRejected, match="signed another claim"):
        member.endorse(second)


def test_a_member_that_came_back_or_begins_another_attempt_is_held_to_its_ledger(make_cohort, vectors) -> None:
    ledger = MemoryLedger()
    for attempt in (0, 1):
        cohort = make_cohort(5, attempt=attempt)
        cohort.members["a"] = cohort.member("a", ledger)
        cohort.send(vectors[:5], SCORES)
        claimed = cohort.aggregate().claimed
        if attempt == 0:
            cohort.members["a"].endorse(claimed)
        else:
            with pytest.raises(AggregateRejected, match="signed another claim"):
                cohort.members["a"].endorse(claimed)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weight": 17}, "another weight"),
        ({"nonce": bytes(16)}, "another weight or frame"),
        ({"sender": "z"}, "no share of 'z'"),
        ({"sender": "b"}, "counted twice"),
        ({"weight": 33}, "between 1 and 32"),
    ],
)
def test_claims_that_are_not_what_senders_signed_are_refused(cohort, changes, said: str) -> None:
    claimed = changed_claim(cohort.aggregate().claimed, **changes)
    with pytest.raises(AggregateRejected, match=said):
        cohort.members["b"].endorse(claimed)


def test_a_share_of_the_servers_making_is_refused(cohort) -> None:
    """Anybody can seal for a member. Were such shares taken, the server would open sums that no claim names."""
    forged = seal(cohort.sealing["a"].public, bytes(32), context=share_context(cohort.about, "b", "a"))
    assert cohort.sealing["a"].unseal(forged, context=share_context(cohort.about, "b", "a")).reveal() == bytes(32)
    with pytest.raises(FrameRejected, match="not the one the sender signed"):
        cohort.members["a"].receive(signed_part(cohort.uploads["b"].frame), forged)


def test_a_share_for_another_member_or_of_another_round_is_refused(cohort, make_cohort, vectors) -> None:
    frame, shares = signed_part(cohort.uploads["b"].frame), cohort.uploads["b"].shares
    with pytest.raises(FrameRejected, match="not the one the sender signed"):
        cohort.members["a"].receive(frame, shares["c"])
    later = make_cohort(5, members=4, threshold=3, round_index=4)
    with pytest.raises(FrameRejected, match="another round"):
        later.members["a"].receive(frame, shares["a"])


def test_two_frames_of_one_sender_are_told_apart(cohort, vectors) -> None:
    second = cohort.upload("b", vectors[6], 0.5)
    with pytest.raises(FrameRejected, match="signed two frames"):
        cohort.members["a"].receive(signed_part(second.frame), second.shares["a"])


def test_a_member_without_a_senders_share_does_not_sign(cohort, vectors, make_cohort) -> None:
    late = make_cohort(5, members=4, threshold=3)
    late.send(vectors[:4], SCORES[:4])
    late.uploads["e"] = late.upload("e", vectors[4], 0.5)
    with pytest.raises(AggregateRejected, match="no share of 'e'"):
        late.members["a"].endorse(late.aggregate().claimed)


def test_an_erased_member_has_nothing_to_answer_with(cohort) -> None:
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    kept = list(cohort.members["a"]._shares.values())  # what a member forgets is nobody's to ask for
    cohort.members["a"].erase()
    assert not any(share.any() for share in kept)
    with pytest.raises(AggregateRejected, match="no share"):
        cohort.members["a"].answer(aggregate.claimed, certificate)


def test_only_members_are_members(cohort) -> None:
    with pytest.raises(ValueRejected, match="'e' is not on this round's committee"):
        cohort.member("e")
