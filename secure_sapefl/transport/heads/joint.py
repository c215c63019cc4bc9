"""What server and committee say to each other (`protocol/joint/messages.py`) as heads and pieces."""

from collections.abc import Iterator, Mapping
from typing import Any

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
from secure_sapefl.protocol.messages import AnnouncedKey, Refusal, SiteId
from secure_sapefl.transport.heads.values import behind_the_head, read_count, read_name, read_words

_COMPLAINT = "cannot be used"  # why stays at the member: its words would not fit into a head with many senders


def duty_head(duty: Duty, pieces: list[bytes]) -> dict[str, Any]:
    about = {"round": duty.round_index, "attempt": duty.attempt}
    match duty:
        case KeyWanted():
            return {"kind": "key", **about}
        case Delivery():
            for parcel in duty.parcels:
                pieces += (parcel.manifest, parcel.share)
            return {"kind": "delivery", **about, "senders": [parcel.sender for parcel in duty.parcels]}
        case Proposal():
            behind_the_head(duty.claim, pieces)
            return {"kind": "proposal", **about}
        case Certified():
            pieces += (duty.claim, duty.certificate)
            return {"kind": "certified", **about}


def read_duty(fields: Mapping[str, Any], pieces: Iterator[bytes]) -> Duty:
    index, attempt = read_count(fields["round"]), read_count(fields["attempt"])
    match fields["kind"]:
        case "key":
            return KeyWanted(round_index=index, attempt=attempt)
        case "delivery":
            senders = [read_name(name) for name in fields["senders"]]
            parcels = tuple(Parcel(sender=name, manifest=next(pieces), share=next(pieces)) for name in senders)
            return Delivery(round_index=index, attempt=attempt, parcels=parcels)
        case "proposal":
            return Proposal(round_index=index, attempt=attempt, claim=next(pieces))
        case "certified":
            return Certified(round_index=index, attempt=attempt, claim=next(pieces), certificate=next(pieces))
    raise ValueError("no duty of a committee")


def deed_head(deed: Deed, pieces: list[bytes]) -> dict[str, Any]:
    match deed:
        case AnnouncedKey():
            behind_the_head(deed.content, pieces)
            return {"kind": "key"}
        case Receipt():
            return {"kind": "receipt", "complaints": [one.site for one in deed.complaints]}
        case Endorsement():
            behind_the_head(deed.signature, pieces)
            return {"kind": "endorsement", "declined": deed.declined}
        case SealedAnswer():
            behind_the_head(deed.content, pieces)
            return {"kind": "answer", "declined": deed.declined}
        case KeysGone():
            return {"kind": "gone"}


def read_deed(fields: Mapping[str, Any], pieces: Iterator[bytes], site: SiteId) -> Deed:
    match fields["kind"]:
        case "key":
            return AnnouncedKey(site=site, content=next(pieces))
        case "receipt":
            complaints = tuple(Refusal(read_name(name), _COMPLAINT) for name in fields["complaints"])
            return Receipt(site=site, complaints=complaints)
        case "endorsement":
            return Endorsement(site=site, signature=next(pieces), declined=read_words(fields["declined"]))
        case "answer":
            return SealedAnswer(site=site, content=next(pieces), declined=read_words(fields["declined"]))
        case "gone":
            return KeysGone(site=site)
    raise ValueError("nothing that a member says")
