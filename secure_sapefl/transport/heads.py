"""Outcomes, invitations and uploads as heads and pieces: a head is small and JSON, a piece is large and bytes.

Words and names are made fit to be shown as they are read: nobody behind this file is given what another party merely
typed.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from secure_sapefl.plain_text import is_name, sentence
from secure_sapefl.protocol.messages import Invitation, Refusal, RoundOutcome, RoundUpload, SealedModel, SiteId
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.signed_parts import Strict

_LONGEST_NONCE: Final = 64


def upload_parts(upload: RoundUpload) -> Parts:
    """An upload on its own, for a site to keep as it left: its head, then its pieces."""
    pieces: list[bytes] = []
    head = upload_head(upload, pieces)
    return (json.dumps(head).encode(), *pieces)


def upload_of(parts: Parts, site: SiteId) -> RoundUpload:
    """Back from `upload_parts`."""
    with Strict(parts):
        return read_upload(json.loads(parts[0]), iter(parts[1:]), site)


def outcome_parts(outcome: RoundOutcome) -> Parts:
    """An outcome on its own, for the server to keep."""
    pieces: list[bytes] = []
    head = outcome_head(outcome, pieces)
    return (json.dumps(head).encode(), *pieces)


def outcome_of(parts: Parts) -> RoundOutcome:
    """Back from `outcome_parts`."""
    with Strict(parts):
        return read_outcome(json.loads(parts[0]), iter(parts[1:]))


def outcome_head(outcome: RoundOutcome, pieces: list[bytes]) -> dict[str, Any]:
    return {
        "round": outcome.round_index,
        "aggregate": _behind_the_head(outcome.aggregate, pieces),
        "weights": [list(pair) for pair in outcome.weights],
        "refusals": [[refusal.site, refusal.reason] for refusal in outcome.refusals],
        "left_out": list(outcome.left_out),
        "reports": [bytes_as_text(report) for report in outcome.reports],
    }


def read_outcome(fields: Mapping[str, Any], pieces: Iterator[bytes]) -> RoundOutcome:
    return RoundOutcome(
        round_index=read_count(fields["round"]),
        aggregate=next(pieces) if fields["aggregate"] else None,
        weights=tuple((read_name(name), read_count(weight)) for name, weight in fields["weights"]),
        refusals=tuple(Refusal(read_name(name), sentence(reason)) for name, reason in fields["refusals"]),
        left_out=tuple(read_name(name) for name in fields.get("left_out", ())),  # files of release 0.1.0 have none
        reports=tuple(read_bytes(report) for report in fields.get("reports", ())),
    )


def invitation_head(invitation: Invitation, pieces: list[bytes]) -> dict[str, Any]:
    models = [[model.sender, model.round_index, _behind_the_head(model.blob, pieces)] for model in invitation.models]
    return {"peers": list(invitation.peers), "models": models}


def read_invitation(head: Mapping[str, Any], pieces: Iterator[bytes]) -> Invitation:
    fields = head["invitation"]
    return Invitation(
        site=read_name(head["site"]),
        round_index=read_count(head["round"]),
        peers=tuple(read_name(name) for name in fields["peers"]),
        models=tuple(
            SealedModel(sender=read_name(sender), round_index=read_count(made), blob=next(pieces))
            for sender, made, _ in fields["models"]
        ),
    )


def upload_head(upload: RoundUpload, pieces: list[bytes]) -> dict[str, Any]:
    sealed = upload.theta_personal
    return {
        "round": upload.round_index,
        "score": upload.similarity_score,
        "update": _behind_the_head(upload.update, pieces),
        "sealed": _behind_the_head(None if sealed is None else sealed.blob, pieces),
    }


def read_upload(fields: Mapping[str, Any], pieces: Iterator[bytes], site: SiteId) -> RoundUpload:
    made = read_count(fields["round"])
    update = next(pieces) if fields["update"] else None
    sealed = SealedModel(sender=site, round_index=made, blob=next(pieces)) if fields["sealed"] else None
    score = float(fields["score"])
    return RoundUpload(site=site, round_index=made, similarity_score=score, update=update, theta_personal=sealed)


def _behind_the_head(piece: bytes | None, pieces: list[bytes]) -> str | None:
    """Put a piece behind the head, which gets its digest."""
    if piece is None:
        return None
    pieces.append(piece)
    return hashlib.sha256(piece).hexdigest()


def read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise ValueError("not a count")
    return value


def read_name(value: object) -> SiteId:
    if not is_name(value):
        raise ValueError("not a name")
    return str(value)


def read_nonce(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NONCE:
        raise ValueError("not a nonce")
    return value


def bytes_as_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def read_bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("not bytes")
    return base64.b64decode(value, validate=True)


def read_words(value: object) -> str | None:
    return None if value is None else sentence(value)
