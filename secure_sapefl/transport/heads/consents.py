"""What is said to fix the nonces of committees (`protocol/joint/consents.py`), as a head."""

from collections.abc import Mapping
from typing import Any

from secure_sapefl.protocol.joint.consents import Call, Commitment, Opening, Said, Settled
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.transport.heads.values import bytes_as_text, read_bytes, read_name


def call_head(call: Call) -> dict[str, Any]:
    return {
        "commitments": [[one.site, *_texts(one.digest, one.signature)] for one in call.commitments],
        "openings": [[one.site, *_texts(one.nonce, one.seen, one.signature)] for one in call.openings],
    }


def read_call(fields: Mapping[str, Any]) -> Call:
    return Call(
        commitments=tuple(_commitment(read_name(site), *said) for site, *said in fields["commitments"]),
        openings=tuple(_opening(read_name(site), *said) for site, *said in fields["openings"]),
    )


def said_head(said: Said) -> dict[str, Any]:
    match said:
        case Commitment():
            return {"kind": "commitment", "said": _texts(said.digest, said.signature)}
        case Opening():
            return {"kind": "opening", "said": _texts(said.nonce, said.seen, said.signature)}
        case Settled():
            return {"kind": "settled"}


def read_said(fields: Mapping[str, Any], site: SiteId) -> Said:
    match fields["kind"]:
        case "commitment":
            return _commitment(site, *fields["said"])
        case "opening":
            return _opening(site, *fields["said"])
        case "settled":
            return Settled(site=site)
    raise ValueError("nothing that is said of a nonce")


def _texts(*contents: bytes) -> list[str]:
    return [bytes_as_text(content) for content in contents]


def _commitment(site: SiteId, digest: object, signature: object) -> Commitment:
    return Commitment(site=site, digest=read_bytes(digest), signature=read_bytes(signature))


def _opening(site: SiteId, nonce: object, seen: object, signature: object) -> Opening:
    return Opening(site=site, nonce=read_bytes(nonce), seen=read_bytes(seen), signature=read_bytes(signature))
