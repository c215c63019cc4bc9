"""What server and site write to each other: messages, signed, as parts a transport carries without reading.

A message is one small signed head and, behind it, the large pieces it speaks of (ciphertexts, sealed models): see
signed_parts.py. The transport sees parts of bytes; equal pieces for several sites stay equal bytes, which a transport
may store once.

The signature covers the study's digest, the round, the direction and, through the digests, every piece. A message to a
site names that site and a nonce; the answer repeats the nonce, so an old answer fits no later question. Words and names
are made fit to be shown as they are read: nobody behind this file is given what another party merely typed.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import Roster
from secure_sapefl.plain_text import is_name, sentence
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.storage.parts import LARGEST, Parts
from secure_sapefl.transport.signed_parts import Strict, signed, verified

_TO_SITE: Final = "server to site"
_TO_SERVER: Final = "site to server"
_LARGEST_ANSWER: Final = 1 << 16  # bytes of an answer's head, which holds no piece
_LONGEST_NONCE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSite:
    """Server to site: the outcomes it lacks, an invitation to the round that is open, or just a question.

    Where the study is ``over``, an invitation is to a round of the site's own: for a site that came too late for any
    other. Nothing of it is sent.
    """

    site: SiteId | None  # None asks whoever is there for its name
    round_index: int
    nonce: str
    outcomes: tuple[RoundOutcome, ...] = ()
    invitation: Invitation | None = None
    over: bool = False  # the study has ended, and the site has all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class ToServer:
    """Site to server: how far it is, and what it has to say to the invitation."""

    site: SiteId
    round_index: int
    nonce: str
    absorbed: int  # outcomes taken in, from round 0 on
    untrained: bool = False  # it keeps a model of its own, and has taken part in no round yet
    upload: RoundUpload | None = None
    declined: str | None = None  # why there is none
    rejected: str | None = None  # the last aggregate this site would not use, and why
    halted: bool = False  # it takes part no more, until its owner says otherwise
    reports: tuple[bytes, ...] = ()  # on every sum it found wrong (reports.py)
    unjudged: tuple[int, ...] = ()  # rounds whose sums its own rules kept it from looking into


def write_to_site(message: ToSite, coordinator: SiteIdentity, study: str) -> Parts:
    pieces: list[bytes] = []
    head = {
        "site": message.site,
        "round": message.round_index,
        "nonce": message.nonce,
        "over": message.over,
        "outcomes": [_outcome_head(outcome, pieces) for outcome in message.outcomes],
        "invitation": None if message.invitation is None else _invitation_head(message.invitation, pieces),
    }
    return signed(head, pieces, coordinator, study, _TO_SITE)


def read_to_site(parts: Parts, coordinator: SitePublicKeys, study: str) -> ToSite:
    """The message, if the study's coordinator wrote it for this study; else `FrameRejected`."""
    _, head, pieces = verified(parts, {coordinator.name: coordinator}, study, _TO_SITE, LARGEST)
    with_pieces = iter(pieces)
    with Strict(parts):
        return ToSite(
            site=None if head["site"] is None else _name(head["site"]),
            round_index=_count(head["round"]),
            nonce=_nonce(head["nonce"]),
            over=bool(head["over"]),
            outcomes=tuple(_outcome(fields, with_pieces) for fields in head["outcomes"]),
            invitation=None if head["invitation"] is None else _invitation(head, with_pieces),
        )


def write_to_server(message: ToServer, site: SiteIdentity, study: str) -> Parts:
    pieces: list[bytes] = []
    head = {
        "site": message.site,
        "round": message.round_index,
        "nonce": message.nonce,
        "absorbed": message.absorbed,
        "untrained": message.untrained,
        "upload": None if message.upload is None else _upload_head(message.upload, pieces),
        "declined": message.declined,
        "rejected": message.rejected,
        "halted": message.halted,
        "reports": [_text(report) for report in message.reports],
        "unjudged": list(message.unjudged),
    }
    return signed(head, pieces, site, study, _TO_SERVER)


def read_to_server(parts: Parts, roster: Roster, study: str) -> ToServer:
    """The message, if a site of the roster wrote it, under its own name, for this study; else `FrameRejected`."""
    signer, head, pieces = verified(parts, roster, study, _TO_SERVER, _LARGEST_ANSWER)
    with Strict(parts):
        if head["site"] != signer:
            raise FrameRejected(
                f"Site {signer!r}: signed a message in the name of {sentence(head['site'], 60)!r}; leave it out."
            )
        return ToServer(
            site=signer,
            round_index=_count(head["round"]),
            nonce=_nonce(head["nonce"]),
            absorbed=_count(head["absorbed"]),
            untrained=bool(head["untrained"]),
            upload=None if head["upload"] is None else _upload(head["upload"], iter(pieces), signer),
            declined=_words(head["declined"]),
            rejected=_words(head["rejected"]),
            halted=bool(head["halted"]),
            reports=tuple(_bytes(report) for report in head["reports"]),
            unjudged=tuple(_count(index) for index in head["unjudged"]),
        )


def upload_parts(upload: RoundUpload) -> Parts:
    """An upload on its own, for a site to keep as it left: its head, then its pieces."""
    pieces: list[bytes] = []
    head = _upload_head(upload, pieces)
    return (json.dumps(head).encode(), *pieces)


def upload_of(parts: Parts, site: SiteId) -> RoundUpload:
    """Back from `upload_parts`."""
    with Strict(parts):
        return _upload(json.loads(parts[0]), iter(parts[1:]), site)


def outcome_parts(outcome: RoundOutcome) -> Parts:
    """An outcome on its own, for the server to keep."""
    pieces: list[bytes] = []
    head = _outcome_head(outcome, pieces)
    return (json.dumps(head).encode(), *pieces)


def outcome_of(parts: Parts) -> RoundOutcome:
    """Back from `outcome_parts`."""
    with Strict(parts):
        return _outcome(json.loads(parts[0]), iter(parts[1:]))


# heads


def _outcome_head(outcome: RoundOutcome, pieces: list[bytes]) -> dict[str, Any]:
    return {
        "round": outcome.round_index,
        "aggregate": _laid(outcome.aggregate, pieces),
        "weights": [list(pair) for pair in outcome.weights],
        "refusals": [[refusal.site, refusal.reason] for refusal in outcome.refusals],
        "left_out": list(outcome.left_out),
        "reports": [_text(report) for report in outcome.reports],
    }


def _outcome(fields: Mapping[str, Any], pieces: Iterator[bytes]) -> RoundOutcome:
    return RoundOutcome(
        round_index=_count(fields["round"]),
        aggregate=next(pieces) if fields["aggregate"] else None,
        weights=tuple((_name(name), _count(weight)) for name, weight in fields["weights"]),
        refusals=tuple(Refusal(_name(name), sentence(reason)) for name, reason in fields["refusals"]),
        left_out=tuple(_name(name) for name in fields.get("left_out", ())),  # files of release 0.1.0 have none
        reports=tuple(_bytes(report) for report in fields.get("reports", ())),
    )


def _invitation_head(invitation: Invitation, pieces: list[bytes]) -> dict[str, Any]:
    models = [[model.sender, model.round_index, _laid(model.blob, pieces)] for model in invitation.models]
    return {"peers": list(invitation.peers), "models": models}


def _invitation(head: Mapping[str, Any], pieces: Iterator[bytes]) -> Invitation:
    fields = head["invitation"]
    return Invitation(
        site=_name(head["site"]),
        round_index=_count(head["round"]),
        peers=tuple(_name(name) for name in fields["peers"]),
        models=tuple(
            SealedModel(sender=_name(sender), round_index=_count(made), blob=next(pieces))
            for sender, made, _ in fields["models"]
        ),
    )


def _upload_head(upload: RoundUpload, pieces: list[bytes]) -> dict[str, Any]:
    sealed = upload.theta_personal
    return {
        "round": upload.round_index,
        "score": upload.similarity_score,
        "update": _laid(upload.update, pieces),
        "sealed": _laid(None if sealed is None else sealed.blob, pieces),
    }


def _upload(fields: Mapping[str, Any], pieces: Iterator[bytes], site: SiteId) -> RoundUpload:
    made = _count(fields["round"])
    update = next(pieces) if fields["update"] else None
    sealed = SealedModel(sender=site, round_index=made, blob=next(pieces)) if fields["sealed"] else None
    score = float(fields["score"])
    return RoundUpload(site=site, round_index=made, similarity_score=score, update=update, theta_personal=sealed)


def _laid(piece: bytes | None, pieces: list[bytes]) -> str | None:
    """Put a piece behind the head, which gets its digest."""
    if piece is None:
        return None
    pieces.append(piece)
    return hashlib.sha256(piece).hexdigest()


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise ValueError("not a count")
    return value


def _name(value: object) -> SiteId:
    if not is_name(value):
        raise ValueError("not a name")
    return str(value)


def _nonce(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NONCE:
        raise ValueError("not a nonce")
    return value


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("not bytes")
    return base64.b64decode(value, validate=True)


def _words(value: object) -> str | None:
    return None if value is None else sentence(value)
