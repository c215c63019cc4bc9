"""Heads and pieces: outcomes and uploads survive a file, and what is no count, name or text is refused."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

from sapefl_crypto import FrameRejected
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload, SealedModel
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads import (
    bytes_as_text,
    invitation_head,
    outcome_head,
    outcome_of,
    outcome_parts,
    read_bytes,
    read_count,
    read_invitation,
    read_name,
    read_nonce,
    read_outcome,
    read_words,
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
    invitation = Invitation(site="north", round_index=2, peers=("a", "b"), models=models)
    pieces: list[bytes] = []
    fields = {"site": "north", "round": 2, "invitation": invitation_head(invitation, pieces)}
    assert pieces == [b"a", b"b"]
    assert read_invitation(fields, iter(pieces)) == invitation
    swapped: Iterator[bytes] = iter(pieces[::-1])
    assert read_invitation(fields, swapped).models[0].blob == b"b"  # order is all that ties them; digests are signed


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        *((read_count, wrong) for wrong in (-1, 2**32, 1.0, True, "1", None)),
        *((read_name, wrong) for wrong in ("", "two\nlines", "x" * 1000, 7, None)),
        *((read_nonce, wrong) for wrong in ("x" * 65, 7, None)),
        *((read_bytes, wrong) for wrong in (b"raw", 7, None, "not base64!")),
    ],
    ids=lambda value: getattr(value, "__name__", ascii(value)[:20]),
)
def test_what_is_no_count_name_nonce_or_text_is_refused(read: Callable[[Any], object], wrong: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(wrong)


def test_what_is_one_is_taken_as_it_is() -> None:
    assert read_count(2**32 - 1) == 2**32 - 1
    assert read_name("north-1") == "north-1"
    assert read_nonce("n" * 64) == "n" * 64
    assert read_bytes(bytes_as_text(b"\0\xff")) == b"\0\xff"
    assert read_words(None) is None
    assert read_words("two\nlines") == "two\N{REPLACEMENT CHARACTER}lines"


def test_an_upload_on_disk_that_was_damaged_is_one_error() -> None:
    upload = RoundUpload(site="a", round_index=1, similarity_score=0.5, update=b"u", theta_personal=None)
    head, update = upload_parts(upload)
    for damaged in ((b"{}", update), (head,), (b"no json", update)):
        with pytest.raises(FrameRejected, match="malformed"):
            upload_of(damaged, "a")
