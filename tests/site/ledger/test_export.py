"""What an auditor is handed: the verified ledger, as JSON and as a page that fetches and runs nothing."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sapefl_crypto import SiteIdentity
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.site.ledger.export import cells, summaries, to_html, to_json
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import FIRST, Lines, SiteEvent
from secure_sapefl.storage.chain import Head

SITE = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(64)) + b"north")
STUDY = "9f" * 32
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def lines(tmp_path: Path) -> Lines:
    files = LedgerFiles(tmp_path / "ledger.jsonl")
    files.create(SITE)
    with SiteLedger(files.path, SITE) as ledger:
        ledger.append(SiteEvent(kind="approved", study=STUDY, note="heart"))
        ledger.append(SiteEvent(kind="sent", study=STUDY, round_index=0, message="upload", size=1000, epsilon=1.5))
        ledger.append(SiteEvent(kind="sent", study=STUDY, round_index=1, message="upload", size=2000, epsilon=2.25))
        ledger.append(SiteEvent(kind="refused", study=STUDY, round_index=2, checks={"tags": False}, note=HOSTILE))
        ledger.append(SiteEvent(kind="sent", study="00" * 32))
    return files.read(SITE.public)


def test_studies_are_summed_up(lines: Lines) -> None:
    heart, unknown = summaries(lines.entries, {})
    assert (heart.name, heart.sent, heart.size, heart.refused, heart.epsilon) == ("heart", 2, 3000, 1, "2.25")
    assert (unknown.name, unknown.sent, unknown.epsilon) == ("a study that was never approved", 1, "none")


def test_the_json_holds_every_line_and_the_last_digest(lines: Lines) -> None:
    document = json.loads(to_json(lines, SITE.public, {}))
    assert document["lines"] == 5
    assert document["last_digest"] == lines.entries[-1].digest == document["entries"][-1]["chain"]
    assert document["entries"][1]["size"] == 1000
    assert document["fingerprint"] == SITE.public.fingerprint


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_is_self_contained_and_escapes_what_it_is_given(lines: Lines) -> None:
    html = to_html(lines, SITE.public, {})
    page = Page()
    page.feed(html)
    assert "script" not in page.tags
    assert page.links == []
    assert "default-src 'none'" in html
    assert "&lt;script&gt;" in html
    assert lines.head.digest in html
    assert "tags: failed" in html
    assert html.count("<tr>") == 1 + 2 + 1 + 5


def test_both_epsilons_and_what_they_are_about_are_told(lines: Lines) -> None:
    digest = summaries(lines.entries, {})[0].digest
    assert ADJACENCY in to_html(lines, SITE.public, {digest: 3.25})
    assert "3.25" in to_html(lines, SITE.public, {digest: 3.25})
    document = json.loads(to_json(lines, SITE.public, {digest: 3.25}))
    assert (document["neighbours"], document["epsilon_replace_one"]) == (ADJACENCY, {digest: 3.25})


def test_an_empty_ledger_is_a_page_too() -> None:
    assert "None yet." in to_html(Lines(entries=(), head=Head(0, FIRST), torn=b""), SITE.public, {})


def test_a_line_on_a_terminal(lines: Lines) -> None:
    assert cells(lines.entries[1])[0] == "2"
    assert cells(lines.entries[1])[2:6] == ("sent: upload", "1", "1,000", "1.5")
    assert cells(lines.entries[3])[6] == "tags FAILED"
