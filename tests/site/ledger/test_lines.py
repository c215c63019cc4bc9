"""What a line of the ledger says, to the byte, and what is no line."""

import hashlib
import math
from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, LedgerRejected
from secure_sapefl.site.ledger.lines import FIRST, Entry, LedgerFormat, SiteEvent, fields_of
from secure_sapefl.storage.chain import Head, Link

AT = "2026-01-01T00:00:00+00:00"
APPROVED = SiteEvent(kind="approved", study="9f" * 32, note="heart")


def test_known_answer() -> None:
    """A change of format shows here: old ledgers must stay readable, also by other programs."""
    content = b'{"line":1,"at":"2026-01-01T00:00:00+00:00","kind":"approved","study":"%s","note":"heart"}' % (
        b"9f" * 32
    )
    digest = hashlib.sha256(hashlib.sha256(b"sapefl site ledger 1").digest() + content).hexdigest()
    link = Link.after(Head(0, FIRST), fields_of(APPROVED, "2026-01-01T00:00:00+00:00"))
    assert link.to_line() == content[:-1] + b',"chain":"%s"}\n' % digest.encode()


def test_an_entry_comes_back_from_its_line_and_says_nothing_that_is_empty() -> None:
    event = SiteEvent(kind="checked", round_index=0, size=0, checks={"tags": False})
    fields = fields_of(event, AT)
    assert fields == {"at": AT, "kind": "checked", "round_index": 0, "size": 0, "checks": {"tags": False}}
    entry = Entry.from_link(Link.after(Head(0, FIRST), fields))
    assert (entry.number, entry.at, entry.event) == (1, AT, event)
    with pytest.raises(ValueError, match="nothing that is empty"):
        Entry.from_link(Link.after(Head(0, FIRST), {**fields, "note": ""}))


@pytest.mark.parametrize("wrong", [{"kind": "guessed"}, {"kind": "sent", "epsilon": math.inf}])
def test_what_no_ledger_can_hold_is_no_event(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        SiteEvent(**wrong)  # type: ignore[arg-type]


def test_a_head_is_signed_by_the_site_and_by_nobody_else() -> None:
    ours, other = SiteIdentity.generate("a"), SiteIdentity.generate("a")
    head = Head(3, "ab" * 32)
    content = LedgerFormat(Path("ledger"), ours.public, ours).write_head(head)
    assert LedgerFormat(Path("ledger"), ours.public).read_head(content, b"") == head
    with pytest.raises(LedgerRejected):
        LedgerFormat(Path("ledger"), other.public).read_head(content, b"")
    with pytest.raises(LedgerRejected, match="missing"):
        LedgerFormat(Path("ledger"), ours.public).read_head(b"", b"")
