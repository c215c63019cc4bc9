"""Whole joint rounds, message by message: what comes out, and what does not, when members or senders fail."""

import dataclasses
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.openable import OpenableSum
from sapefl_crypto.joint.sealing import SealingKey
from secure_sapefl.audit.server_attacks import reachable
from secure_sapefl.protocol.joint.messages import Deed, Endorsement, Receipt, SealedAnswer
from secure_sapefl.protocol.joint.site import SiteLegs
from secure_sapefl.protocol.messages import Refusal, RoundUpload, SealedShare

Make = Callable[..., Any]  # Round of conftest.py


def test_a_round_opens_to_the_weighted_mean_for_every_site(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    for site, value, score in (("a", 1.0, 2.0), ("b", -0.5, 1.0), ("c", 0.25, 0.5), ("d", 0.0, 1.0)):
        assert joint.server.accept(joint.upload(site, value, score))
    outcome = joint.press_on()
    assert dict(outcome.weights) == {"a": 32, "b": 16, "c": 8, "d": 16}
    assert outcome.refusals == ()
    for reader in "abcd":
        assert np.array_equal(joint.mean(outcome, reader), np.full(20, (32 - 8 + 2) / 72, np.float32))


def test_models_that_came_are_relayed_to_those_who_can_open_them(make_round: Make) -> None:
    joint = make_round()
    joint.run()
    joint.server.begin_round(4)
    invitation = joint.server.invitation("b")
    assert [model.sender for model in invitation.models] == ["a", "c", "d"]
    for model in invitation.models:
        opened = joint.sites.codec(["b"]).open(model.blob, study="s", round_index=3, sender=model.sender)
        assert len(opened) == 20


@pytest.mark.parametrize("absent", ["", "d", "b"])
def test_as_many_members_may_be_away_as_are_not_needed(make_round: Make, absent: str) -> None:
    """Four members, three open: one may be away from the start, be it one whose share is a seed or not."""
    outcome = make_round(absent=absent).run()
    assert outcome.aggregate is not None
    assert len(OpenableSum.from_bytes(outcome.aggregate).answers) == 4 - len(absent)


def test_one_more_and_the_sum_stays_closed_and_says_why(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    joint.absent = "cd"
    joint.ask()
    outcome = joint.server.press_on()
    assert (outcome.aggregate, outcome.weights) == (None, ())
    (refusal,) = outcome.refusals
    assert refusal == Refusal(
        "server",
        "2 of 4 members of the committee could use the shares they were sent, 3 are needed (missing: c, d); the sum "
        "stays closed.",
    )
    joint.server.begin_round(4)
    assert len(joint.server.invitation("a").models) == 3, "what came for peers goes on"


@pytest.mark.parametrize(("stage", "what"), [("claim", "signed the claim"), ("answers", "answered")])
def test_members_may_fall_silent_in_any_leg(make_round: Make, stage: str, what: str) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    assert joint.server.press_on() is None
    while joint.server.legs.stage != stage:
        joint.ask()
        assert joint.server.press_on() is None
    joint.ask("a", "b")
    assert not joint.server.legs.enough
    outcome = joint.server.press_on()
    assert outcome.aggregate is None
    assert f"2 of 4 members of the committee {what}, 3 are needed (missing: c, d)" in outcome.refusals[-1].reason


def test_too_few_keys_and_nothing_is_sent(make_round: Make) -> None:
    joint = make_round(absent="cd")
    joint.ask()
    assert joint.server.legs.waiting == ("c", "d")
    outcome = joint.server.press_on()
    assert "2 of 4 members of the committee announced a key, 3 are needed" in outcome.refusals[-1].reason


def test_fewer_senders_than_colluders_and_two_are_not_summed(make_round: Make) -> None:
    outcome = make_round().run(a=0.5, b=0.25)
    assert outcome.aggregate is None
    assert outcome.refusals[-1].reason == "2 sites sent a score above 0, the study asks for 3 in a sum."


def test_a_score_of_zero_is_in_no_sum_and_all_zero_change_nothing(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    for site, score in (("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 1.0)):
        assert joint.server.accept(joint.upload(site, 0.5, score))
    outcome = joint.press_on()
    assert dict(outcome.weights).keys() == {"a", "c", "d"}
    joint = make_round()
    joint.announce()
    for site in "abcd":
        assert joint.server.accept(joint.upload(site, 0.5, 0.0))
    outcome = joint.server.press_on()
    assert joint.mean(outcome) is None
    assert outcome.weights == ()


def test_a_sum_that_is_nearly_one_sites_is_not_made(make_round: Make) -> None:
    """Weights 32, 1, 1, 1: without the heaviest other, 32 of 34 are one site's."""
    joint = make_round()
    joint.announce()
    for site, score in (("a", 2.0), ("b", 0.01), ("c", 0.01), ("d", 0.01)):
        assert joint.server.accept(joint.upload(site, 0.5, score))
    outcome = joint.server.press_on()
    assert outcome.aggregate is None
    assert "one site has more than 90% of what is left of the sum" in outcome.refusals[-1].reason


def bad_shares(upload: RoundUpload) -> RoundUpload:
    return replace(upload, shares=tuple(SealedShare(member=s.member, content=os.urandom(80)) for s in upload.shares))


CRIMES: dict[str, Callable[[Any, RoundUpload], RoundUpload]] = {
    "shares it did not sign": lambda _, upload: bad_shares(upload),
    "shares of another's": lambda joint, upload: replace(upload, shares=joint.upload("b").shares),
    "no shares": lambda _, upload: replace(upload, shares=()),
    "shares under each other's names": lambda _, upload: replace(
        upload, shares=tuple(replace(share, member=name) for share, name in zip(upload.shares, "bacd", strict=True))
    ),
    "a share too few": lambda _, upload: replace(upload, shares=upload.shares[1:]),
    "another score beside its frame": lambda _, upload: replace(upload, similarity_score=1.5),
    "another's frame": lambda joint, upload: replace(upload, update=joint.upload("b").update),
    "noise": lambda _, upload: replace(upload, update=os.urandom(40_000)),
}


@pytest.mark.parametrize("crime", CRIMES)
def test_the_round_goes_on_without_the_culprit_and_names_it(make_round: Make, crime: str) -> None:
    joint = make_round()
    joint.announce()
    assert not joint.server.accept(CRIMES[crime](joint, joint.upload("a")))
    joint.send(b=0.25, c=0.5, d=0.75)
    outcome = joint.press_on()
    assert [refusal.site for refusal in outcome.refusals] == ["a"]
    assert np.array_equal(joint.mean(outcome), np.full(20, 0.5, np.float32))


def test_a_sender_whose_shares_open_for_nobody_is_left_out_before_the_claim(make_round: Make) -> None:
    """It seals for keys that nobody has, and signs that: only members can see it."""
    joint = make_round()
    joint.announce()
    nobodys = {name: SealingKey().public for name in "abcd"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SiteLegs, "_members", lambda *_: nobodys)
        assert joint.server.accept(joint.upload("a"))
    joint.send(b=0.25, c=0.5, d=0.75)
    outcome = joint.press_on()
    assert dict(outcome.weights).keys() == {"b", "c", "d"}
    (refusal,) = outcome.refusals
    assert refusal.site == "a"
    assert "the shares of its key are no good" in refusal.reason
    assert np.array_equal(joint.mean(outcome), np.full(20, 0.5, np.float32))


def test_one_member_that_complains_of_everybody_is_done_without(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    joint.send()

    def cry(deed: Deed) -> Deed:
        wolf = isinstance(deed, Receipt) and deed.site == "d"
        return replace(deed, complaints=tuple(Refusal(site, "no good") for site in "abc")) if wolf else deed

    assert joint.server.press_on() is None
    joint.ask(change=cry)
    assert joint.server.press_on() is None
    assert joint.server.legs.asked == ("a", "b", "c")
    joint.ask()
    assert joint.server.press_on() is None
    joint.ask()
    outcome = joint.server.press_on()
    assert dict(outcome.weights).keys() == set("abcd")


@pytest.mark.parametrize("kind", [Endorsement, SealedAnswer])
def test_what_a_member_did_not_sign_for_this_claim_is_refused(make_round: Make, kind: type) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    before: dict[str, Deed] = {}
    while joint.server.legs.stage != ("claim" if kind is Endorsement else "answers"):
        joint.ask()
        joint.server.press_on()
    for member in "ab":
        before[member] = joint.sites.perform(member, joint.duty(member))
    name = "signature" if kind is Endorsement else "content"
    for forged in (
        replace(before["b"], **{name: getattr(before["a"], name)}),
        replace(before["b"], **{name: os.urandom(200)}),
        replace(before["b"], site="mallory"),
    ):
        with pytest.raises(FrameRejected, match=r"Ask 'b' for it again|the answer of 'a'|not one of version|committee"):
            joint.server.legs.hear(forged)
    joint.server.legs.hear(before["b"])


def test_the_server_never_reaches_a_key(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    types = {type(one).__name__ for one in reachable(joint.server)}
    assert {"CommitteeLegs", "JointAdder", "JointTerms"} <= types
    assert types & {"SiteIdentity", "SealingKey", "TagRoot", "RoundKey", "Member", "Secret", "JointHolder"} == set()
    assert not [field for field in dataclasses.fields(joint.sites.terms) if "secret" in field.name]
