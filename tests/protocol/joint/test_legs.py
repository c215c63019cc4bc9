"""The server's side of the legs: who is asked what, when a stage has enough, and what is left behind by a stage."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol.joint.messages import Certified, Delivery, KeyWanted, Proposal
from secure_sapefl.protocol.messages import AnnouncedKey, Refusal

Make = Callable[..., Any]


def test_every_stage_asks_its_own_duty_of_those_who_have_not_answered(make_round: Make) -> None:
    joint = make_round()
    legs, stages = joint.server.legs, []
    for kind in (KeyWanted, None, Delivery, Proposal, Certified):
        stages.append(legs.stage)
        if kind is None:
            assert [legs.duty_for(member) for member in "abcd"] == [None] * 4
            for site in "abcd":
                joint.sites.hear(joint.server.invitation(site))
            joint.send()
        else:
            assert all(type(legs.duty_for(member)) is kind for member in "abcd")
            joint.ask("a")
            assert legs.duty_for("a") is None
            assert legs.waiting == ("b", "c", "d")
            joint.ask()
        assert legs.enough
        outcome = joint.server.press_on()
    assert stages == ["keys", "uploads", "deliveries", "claim", "answers"]
    assert outcome.aggregate is not None


def test_a_member_gets_its_own_share_of_every_sender_with_a_weight(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    uploads = {site: joint.upload(site, 0.5, 0.0 if site == "d" else 1.0) for site in "abcd"}
    for upload in uploads.values():
        assert joint.server.accept(upload)
    joint.server.press_on()
    for place, member in enumerate("abcd"):
        parcels = joint.duty(member).parcels
        assert [parcel.sender for parcel in parcels] == ["a", "b", "c"]
        assert [parcel.share for parcel in parcels] == [uploads[site].shares[place].content for site in "abc"]
        assert all(uploads[parcel.sender].update.startswith(parcel.manifest) for parcel in parcels)


def test_signatures_are_enough_at_the_quorum_and_answers_where_all_liars_are_found(make_round: Make) -> None:
    """Seven members, five open, two tolerated: five signatures certify; nine answers would name both, of seven."""
    joint = make_round(sites=tuple("abcdefg"), colluders=2)
    joint.announce()
    joint.send(**dict.fromkeys("abcdefg", 0.5))
    joint.server.press_on()
    joint.ask()
    joint.server.press_on()
    joint.ask(*"abcd")
    assert not joint.server.legs.plenty
    joint.ask("e")
    assert joint.server.legs.plenty
    assert joint.server.press_on() is None
    joint.ask(*"abcde")
    assert joint.server.legs.enough
    assert not joint.server.legs.plenty


def test_a_key_is_taken_of_this_moment_alone_and_a_late_one_not_at_all(make_round: Make) -> None:
    joint, other = make_round(), make_round()
    foreign = other.sites.perform("a", other.duty("a"))
    with pytest.raises(FrameRejected, match="does not hold"):
        joint.server.legs.hear(foreign)
    announced = joint.sites.perform("a", joint.duty("a"))
    with pytest.raises(FrameRejected, match="does not hold"):
        joint.server.legs.hear(replace(announced, site="b"))
    with pytest.raises(FrameRejected, match="not on this round's committee"):
        joint.server.legs.hear(AnnouncedKey(site="mallory", content=announced.content))
    joint.absent = "a"
    joint.announce()
    joint.server.legs.hear(announced)
    assert list(joint.server.legs.keys) == ["b", "c", "d"], "uploads have begun without it"


def test_who_declines_is_not_waited_for(make_round: Make) -> None:
    joint = make_round()
    joint.announce()
    joint.send()
    joint.server.press_on()
    joint.ask()
    joint.server.press_on()

    def decline(deed: Any) -> Any:
        return replace(deed, signature=b"", declined="against its rules") if deed.site == "b" else deed

    joint.ask(change=decline)
    assert (joint.server.legs.waiting, joint.server.legs.declined) == ((), {"b": "against its rules"})
    assert joint.server.press_on() is None
    assert set(joint.server.legs.certificate.signatures) == set("acd")
    assert joint.server.legs.duty_for("b") is not None, "it may still answer what the others have certified"
    joint.ask("a", "c", "d")
    outcome = joint.server.press_on()
    assert outcome.aggregate is not None
    assert outcome.refusals == (Refusal("b", "declined as a member of the committee: against its rules"),)
