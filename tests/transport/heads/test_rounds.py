"""Heads and pieces: outcomes and uploads survive a file, and what is no count, name or text is refused."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from sapefl_crypto import FrameRejected
from secure_sapefl.protocol.messages import AnnouncedKey, Invitation, RoundOutcome, RoundUpload, SealedModel
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads.rounds import (
    invitation_head,
    outcome_head,
    outcome_of,
    outcome_parts,
    read_invitation,
    read_outcome,
    upload_of,
    upload_parts,
)
from tests.transport.random_messages import outcomes, uploads


@given(uploads, outcomes)
def test_uploads_and_outcomes_survive_a_file(upload: RoundUpload, outcome: RoundOutcome) -> None:
    stored = from_bytes(to_bytes(upload_parts(upload)))
    assert upload_of(stored, "north") == upload
    assert outcome_of(from_bytes(to_bytes(outcome_parts(outcome)))) == outcome


def test_a_head_names_its_pieces_by_digest_and_holds_none_of_them() -> None:
    pieces: list[bytes] = []
    outcome = RoundOutcome(round_index=3, aggregate=b"sum", weights=(("a", 2),), refusals=())
    head = outcome_head(outcome, pieces)
    assert pieces == [b"sum"]
    assert head["aggregate"] == "09f5ffef28309853265c4a98d0e56e1be522b6b402d8193594fd05103064fc6a"  # SHA-256 of it
    assert read_outcome(head, iter(pieces)) == outcome


def test_an_invitations_models_stand_behind_its_head_in_order() -> None:
    models = tuple(SealedModel(sender=name, round_index=1, blob=name.encode()) for name in ("a", "b"))
    keys = (AnnouncedKey(site="c", content=b"key"),)
    invitation = Invitation(site="north", round_index=2, peers=("a", "b"), models=models, keys=keys, attempt=1)
    pieces: list[bytes] = []
    fields = {"site": "north", "round": 2, "invitation": invitation_head(invitation, pieces)}
    assert pieces == [b"a", b"b"]
    assert read_invitation(fields, iter(pieces)) == invitation
    swapped: Iterator[bytes] = iter(pieces[::-1])
    assert read_invitation(fields, swapped).models[0].blob == b"b"  # order is all that ties them; digests are signed


def test_an_upload_on_disk_that_was_damaged_is_one_error() -> None:
    upload = RoundUpload(site="a", round_index=1, similarity_score=0.5, update=b"u", theta_personal=None)
    head, update = upload_parts(upload)
    for damaged in ((b"{}", update), (head,), (b"no json", update)):
        with pytest.raises(FrameRejected, match="malformed"):
            upload_of(damaged, "a")
