"""A site's ledger for an auditor: verified first, then as JSON or as one self-contained page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from markupsafe import Markup

from sapefl_crypto.keys.identity import SitePublicKeys
from secure_sapefl.privacy.adjacency import ADJACENCY
from secure_sapefl.site.ledger.lines import Entry, Lines
from secure_sapefl.templating import template

COLUMNS: Final = ("line", "time (UTC)", "what happened", "round", "bytes", "epsilon", "checks", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySummary:
    name: str
    digest: str
    sent: int
    size: int
    refused: int
    epsilon: str
    replaced: str  # epsilon for a record that is replaced


def to_json(lines: Lines, public: SitePublicKeys, replaced: Mapping[str, float]) -> str:
    """``replaced`` has each private study's epsilon for a record that is replaced, by digest."""
    document = {
        "site": public.name,
        "fingerprint": public.fingerprint,
        "lines": lines.head.lines,
        "last_digest": lines.head.digest,
        "neighbours": ADJACENCY,
        "epsilon_replace_one": dict(replaced),
        "entries": [entry.to_json() for entry in lines.entries],
    }
    return json.dumps(document, indent=1)


def to_html(lines: Lines, public: SitePublicKeys, replaced: Mapping[str, float]) -> str:
    facts = [
        ("Site", public.name),
        ("Key fingerprint", public.fingerprint),
        ("Lines", f"{lines.head.lines}, all verified"),
        ("Digest of the last line", lines.head.digest),
        ("What epsilon is about", ADJACENCY),
    ]
    style = (files("secure_sapefl.report") / "templates" / "report.css").read_text(encoding="utf-8")
    return template("secure_sapefl.site.ledger", "ledger.html.j2").render(
        site=public.name,
        facts=facts,
        studies=summaries(lines.entries, replaced),
        entries=lines.entries,
        style=Markup(style),  # noqa: S704 - a file of this package
    )


def cells(entry: Entry) -> tuple[str, ...]:
    """A line for a table on a terminal, under `COLUMNS`; rounds count from 1, as people do."""
    event = entry.event
    return (
        str(entry.number),
        entry.at.removesuffix("+00:00"),
        f"{event.kind}: {event.message}" if event.message else event.kind,
        "" if event.round_index is None else str(event.round_index + 1),
        "" if event.size is None else f"{event.size:,}",
        "" if event.epsilon is None else f"{event.epsilon:.4g}",
        ", ".join(f"{name} {'held' if held else 'FAILED'}" for name, held in event.checks.items()),
        event.note,
    )


def summaries(entries: Sequence[Entry], replaced: Mapping[str, float]) -> tuple[StudySummary, ...]:
    """What each study came to, in the order in which they first appear."""
    digests = dict.fromkeys(entry.event.study for entry in entries if entry.event.study)
    return tuple(
        _summary(digest, [e for e in entries if e.event.study == digest], replaced.get(digest)) for digest in digests
    )


def _summary(digest: str, entries: Sequence[Entry], replaced: float | None) -> StudySummary:
    sent = [entry.event for entry in entries if entry.event.kind == "sent"]
    spent = [entry.event.epsilon for entry in entries if entry.event.epsilon is not None]
    names = [entry.event.note for entry in entries if entry.event.kind == "approved"]
    return StudySummary(
        name=names[0] if names else "a study that was never approved",
        digest=digest,
        sent=len(sent),
        size=sum(event.size or 0 for event in sent),
        refused=sum(entry.event.kind == "refused" for entry in entries),
        epsilon=f"{max(spent):.4g}" if spent else "none",
        replaced=f"{replaced:.4g}" if replaced else "none",
    )
