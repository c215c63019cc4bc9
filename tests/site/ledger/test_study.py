"""What an agent enters about one study: before anything leaves, one line each, noise bounded."""

from typing import Any

import pytest

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, SealedModel
from secure_sapefl.site.ledger.study import StudyLedger
from secure_sapefl.transport.signed_parts import parts_digest
from tests.deployed_study import Notes

OUTCOME = RoundOutcome(round_index=4, aggregate=b"sum", weights=(), refusals=())


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def ledger(notes: Notes) -> StudyLedger:
    return StudyLedger(notes, study="d" * 64, site="a", sent_before=frozenset({0}))  # type: ignore[arg-type]


def test_what_is_sent_is_named_by_size_and_digest_and_remembered(ledger: StudyLedger, notes: Notes) -> None:
    ledger.sent(1, "round upload", (b"head", b"update"), 1.5, "again")
    (event,) = notes
    assert (event.kind, event.study, event.round_index, event.message) == ("sent", "d" * 64, 1, "round upload")
    assert (event.size, event.digest, event.epsilon) == (10, parts_digest((b"head", b"update")), 1.5)
    assert ledger.sent_rounds == {0, 1}


def test_what_could_not_be_written_was_not_sent(ledger: StudyLedger, notes: Notes) -> None:
    notes.full = True
    with pytest.raises(OSError, match="No space"):
        ledger.sent(1, "round upload", (b"",), None)
    assert ledger.sent_rounds == {0}


@pytest.mark.parametrize(
    ("error", "kind", "checks"),
    [(None, "checked", {"claim and tags": True}), (AggregateRejected("tags", "off by 7"), "refused", {"tags": False})],
)
def test_a_sum_was_checked_or_refused(
    ledger: StudyLedger, notes: Notes, error: Any, kind: str, checks: dict[str, bool]
) -> None:
    ledger.checked(OUTCOME, error)
    (event,) = notes
    assert (event.kind, event.round_index, event.checks) == (kind, 4, checks)
    assert ("off by 7" in event.note) == (error is not None)


def test_a_round_without_a_sum_has_nothing_that_was_checked(ledger: StudyLedger, notes: Notes) -> None:
    ledger.checked(RoundOutcome(round_index=0, aggregate=None, weights=(), refusals=()))
    assert notes[0].checks == {}


def test_reasons_become_one_line_of_bounded_length(ledger: StudyLedger, notes: Notes) -> None:
    ledger.declined(2, "a\nb\x1b[2J" + "x" * 5000)
    ledger.withheld(2, "too few peers")
    assert notes[0].note.isprintable()
    assert len(notes[0].note) == 1000
    assert [event.message for event in notes] == ["invitation", "score"]


def test_noise_at_the_socket_is_counted_and_does_not_fill_the_disk(ledger: StudyLedger, notes: Notes) -> None:
    for _ in range(150):
        ledger.refused_message("noise")
    assert (ledger.refused_messages, len(notes)) == (150, 100)
    assert notes[-1].note.endswith("only counted.")
    assert not notes[-2].note.endswith("only counted.")


def test_peers_models_that_came_are_on_record(ledger: StudyLedger, notes: Notes) -> None:
    models = (SealedModel(sender="b", round_index=3, blob=b"model"),)
    ledger.received(Invitation(site="a", round_index=5, peers=("b",), models=models), "for itself")
    assert (notes[0].kind, notes[0].message, notes[0].note) == ("received", "peers' models", "for itself")
    assert notes[0].digest == parts_digest((b"model",))
