"""A site as sender and as member: one claim a round, in its ledger first; keys of the round that end with it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto.errors import AggregateRejected, CryptoError, FrameRejected, ValueRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.member import MemoryLedger
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.sealing import SealingKey
from secure_sapefl.protocol.joint.site import SiteLegs
from secure_sapefl.protocol.messages import AnnouncedKey

Make = Callable[..., Any]


def at_claim(make_round: Make) -> Any:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    joint.ask()
    joint.server.press_on()
    return joint


def without(claim: bytes, sender: str) -> bytes:
    """The same claim without one sender."""
    claimed = JointClaim.from_bytes(claim)
    parts = tuple(part for part in claimed.claim if part.sender != sender)
    return replace(claimed, claim=replace(claimed.claim, parts=parts)).to_bytes()


def test_a_member_signs_one_claim_and_answers_no_other(make_round: Make) -> None:
    joint = at_claim(make_round)
    proposal = joint.duty("a")
    other = replace(proposal, claim=without(proposal.claim, "d"))
    signed = joint.sites.perform("a", proposal)
    assert joint.sites.perform("a", proposal) == signed, "asked again, the same"
    refused = joint.sites.perform("a", other)
    assert refused.signature == b""
    assert "has signed another claim of this round" in refused.declined
    joint.ask()
    joint.server.press_on()
    certified = joint.duty("a")
    answer = joint.sites.perform("a", replace(certified, claim=other.claim))
    assert answer.content == b""
    assert "certifies another claim" in answer.declined


def test_the_ledger_has_the_digest_before_the_signature_exists(make_round: Make) -> None:
    class Full(MemoryLedger):
        def enter(self, about: JointRound, digest: bytes) -> None:
            raise OSError(28, "No space left on device")

    joint = at_claim(make_round)
    legs = joint.sites._legs["a"]  # to put a disk without room under it
    legs._holder = replace(legs._holder, ledger=Full())  # as above
    legs._member._ledger = Full()  # as above
    with pytest.raises(OSError, match="No space"):
        joint.sites.perform("a", joint.duty("a"))


def test_a_member_that_forgot_its_keys_can_neither_sign_nor_answer(make_round: Make) -> None:
    """As after a crash: the same site, the same ledger, other keys."""
    joint = at_claim(make_round)
    fresh = SiteLegs(joint.server.legs.about, joint.sites.holders["a"], joint.sites.terms.readers)
    assert "no share of 'a' has come here" in fresh.perform(joint.duty("a")).declined


def test_shares_that_are_not_for_it_are_named(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    delivery = joint.duty("a")
    (first, second, *_), theirs = delivery.parcels, joint.duty("b").parcels[0]
    wrong = (replace(first, share=theirs.share), replace(second, share=first.share))
    receipt = joint.sites.perform("a", replace(delivery, parcels=wrong))
    assert [complaint.site for complaint in receipt.complaints] == ["a", "b"]
    assert all("not the one the sender signed" in complaint.reason for complaint in receipt.complaints)
    assert joint.sites.perform("a", delivery).complaints == ()


@pytest.mark.parametrize("attempt", [1, 2])
def test_shares_of_another_attempt_or_round_are_refused(make_round: Make, attempt: int) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    delivery = joint.duty("a")
    about = joint.sites.terms.about(3, attempt)
    legs = SiteLegs(about, joint.sites.holders["a"], joint.sites.terms.readers)
    assert all("another attempt" in one.reason for one in legs.perform(delivery).complaints)
    later = SiteLegs(joint.sites.terms.about(4), joint.sites.holders["a"], joint.sites.terms.readers)
    assert len(later.perform(delivery).complaints) == 4


def test_a_sender_seals_for_signed_keys_of_members_and_enough_of_them(make_round: Make) -> None:
    joint = make_round()
    joint.ask()
    joint.server.press_on()
    keys = joint.server.invitation("a").keys
    forged = AnnouncedKey(site="b", content=SealingKey().public + keys[1].content[32:])
    stranger = AnnouncedKey(site="z", content=keys[0].content)
    legs = joint.sites._legs["a"]  # a site by itself
    vector = joint.sites.terms.plan.on_grid  # any callable stands for nothing here; the keys come first
    for bad, error, match in (
        ((keys[0], forged, *keys[2:]), FrameRejected, "signature of 'b'"),
        ((*keys, stranger), FrameRejected, "'z', which is not on the committee"),
        (keys[:2], ValueRejected, "2 of 4 members are here, 3 are needed"),
    ):
        with pytest.raises(error, match=match):
            legs.encrypt(vector, 1.0, bad)  # type: ignore[arg-type]


def test_when_the_round_is_over_nothing_of_it_opens(make_round: Make) -> None:
    joint = at_claim(make_round)
    legs = dict(joint.sites._legs)  # a thief keeps the objects
    delivery, proposal = None, joint.duty("a")
    member = legs["a"]._member  # as above
    assert member is not None
    assert len(member._shares) == 4  # what a thief of its memory would have
    joint.sites.erase()
    assert "no share" in legs["a"].perform(proposal).declined
    assert member._shares == {}  # as above
    again = make_round()
    again.announce()
    again.send()
    again.server.press_on()
    delivery, kept = again.duty("a"), dict(again.sites._legs)  # as above
    again.sites.erase()
    complaints = kept["a"].perform(delivery).complaints
    assert all("erased when the round closed" in one.reason for one in complaints)
    assert len(complaints) == 4


def test_own_rules_come_before_a_signature(make_round: Make) -> None:
    joint = at_claim(make_round)
    legs = joint.sites._legs["b"]  # the owner of b asks for five in a sum
    policy = legs._holder.policy  # as above
    strict = replace(policy, rules=replace(policy.rules, min_cohort=5))
    legs._member._policy = strict  # as above
    assert "4 senders, this site asks for 5" in joint.sites.perform("b", joint.duty("b")).declined
    assert issubclass(AggregateRejected, CryptoError)
