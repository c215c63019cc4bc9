"""Outcomes, invitations and uploads as heads and pieces: a head is small and JSON, a piece is large and bytes.

Words and names are made fit to be shown as they are read: nobody behind this file is given what another party merely
typed.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from secure_sapefl.plain_text import sentence
from secure_sapefl.protocol.messages import (
    AnnouncedKey,
    Invitation,
    Refusal,
    RoundOutcome,
    RoundUpload,
    SealedModel,
    SealedShare,
    SiteId,
)
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.heads.values import behind_the_head, bytes_as_text, read_bytes, read_count, read_name
from secure_sapefl.transport.signed_parts import Strict


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
        "aggregate": behind_the_head(outcome.aggregate, pieces),
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
    models = [[model.sender, model.round_index, behind_the_head(model.blob, pieces)] for model in invitation.models]
    keys = [[key.site, bytes_as_text(key.content)] for key in invitation.keys]
    return {"peers": list(invitation.peers), "models": models, "keys": keys, "attempt": invitation.attempt}


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
        keys=tuple(AnnouncedKey(site=read_name(name), content=read_bytes(key)) for name, key in fields["keys"]),
        attempt=read_count(fields["attempt"]),
    )


def upload_head(upload: RoundUpload, pieces: list[bytes]) -> dict[str, Any]:
    sealed = upload.theta_personal
    head = {
        "round": upload.round_index,
        "score": upload.similarity_score,
        "update": behind_the_head(upload.update, pieces),
        "sealed": behind_the_head(None if sealed is None else sealed.blob, pieces),
        "shares": [share.member for share in upload.shares],
    }
    pieces += [share.content for share in upload.shares]
    return head


def read_upload(fields: Mapping[str, Any], pieces: Iterator[bytes], site: SiteId) -> RoundUpload:
    made = read_count(fields["round"])
    update = next(pieces) if fields["update"] else None
    sealed = SealedModel(sender=site, round_index=made, blob=next(pieces)) if fields["sealed"] else None
    members = [read_name(name) for name in fields.get("shares", ())]  # uploads on disk since 0.1.0 have none
    return RoundUpload(
        site=site,
        round_index=made,
        similarity_score=float(fields["score"]),
        update=update,
        theta_personal=sealed,
        shares=tuple(SealedShare(member=name, content=next(pieces)) for name in members),
    )
