"""Duties and deeds survive the wire as they were; what is none is refused."""

import pytest

from secure_sapefl.protocol.joint.messages import (
    Certified,
    Deed,
    Delivery,
    Duty,
    Endorsement,
    KeysGone,
    KeyWanted,
    Parcel,
    Proposal,
    Receipt,
    SealedAnswer,
)
from secure_sapefl.protocol.messages import AnnouncedKey, Refusal
from secure_sapefl.transport.heads.joint import deed_head, duty_head, read_deed, read_duty

PARCELS = tuple(Parcel(sender=name, manifest=b"m" + name.encode(), share=b"s" + name.encode()) for name in "ab")
DUTIES: list[Duty] = [
    KeyWanted(round_index=3, attempt=1),
    Delivery(round_index=3, attempt=1, parcels=PARCELS),
    Proposal(round_index=3, attempt=1, claim=b"claim"),
    Certified(round_index=3, attempt=1, claim=b"claim", certificate=b"certificate"),
]
DEEDS: list[Deed] = [
    AnnouncedKey(site="a", content=b"key"),
    Receipt(site="a", complaints=(Refusal("b", "cannot be used"),)),
    Endorsement(site="a", signature=b"signature"),
    Endorsement(site="a", declined="Because."),
    SealedAnswer(site="a", content=b"answer"),
    KeysGone(site="a"),
]


@pytest.mark.parametrize("duty", DUTIES, ids=lambda duty: type(duty).__name__)
def test_duties_come_back(duty: Duty) -> None:
    pieces: list[bytes] = []
    head = duty_head(duty, pieces)
    assert read_duty(head, iter(pieces)) == duty


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: type(deed).__name__)
def test_deeds_come_back_in_the_signers_name(deed: Deed) -> None:
    pieces: list[bytes] = []
    head = deed_head(deed, pieces)
    assert read_deed(head, iter(pieces), "a") == deed


def test_why_a_share_is_no_good_stays_at_the_member() -> None:
    pieces: list[bytes] = []
    head = deed_head(Receipt(site="a", complaints=(Refusal("b", "a long story"),)), pieces)
    assert "story" not in str(head)


@pytest.mark.parametrize("kind", ["", "other", None])
def test_what_is_neither_is_refused(kind: object) -> None:
    with pytest.raises(ValueError, match="no duty"):
        read_duty({"kind": kind, "round": 0, "attempt": 0}, iter(()))
    with pytest.raises(ValueError, match="nothing that a member says"):
        read_deed({"kind": kind}, iter(()), "a")
