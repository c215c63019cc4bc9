"""The lines of a site's ledger as values: events, the chain they form, and the signed head. No files here.

A line is one canonical rendering of its fields: a byte changed anywhere, even to one that reads the same, is found.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.signing import sign_document, verify_document
from secure_sapefl.errors import BadInput, LedgerRejected

EventKind = Literal["approved", "withdrawn", "started", "stopped", "received", "sent", "checked", "refused", "repaired"]
FIRST: Final = hashlib.sha256(b"sapefl site ledger 1").hexdigest()
_HEAD: Final = "ledger head"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. Says nothing about a record: it may be shown to an auditor."""

    kind: EventKind
    study: str = ""  # digest
    round_index: int | None = None
    message: str = ""  # the kind of message that left or came, such as "round upload"
    size: int | None = None  # bytes
    digest: str = ""  # SHA-256 of the message, hexadecimal
    epsilon: float | None = None  # spent on this study so far
    checks: Mapping[str, bool] = field(default_factory=dict)  # what was checked, and whether it held
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(EventKind):
            raise BadInput(f"{self.kind!r} is no kind of event; kinds are {', '.join(get_args(EventKind))}.")
        if self.epsilon is not None and not math.isfinite(self.epsilon):
            raise BadInput(f"epsilon = {self.epsilon} is not a number a ledger can hold.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line: the event, when it was written, and the digest of everything up to it."""

    number: int
    at: str
    event: Event
    digest: str

    @classmethod
    def after(cls, head: "Head", event: Event, at: str) -> "Entry":
        number = head.lines + 1
        return cls(number=number, at=at, event=event, digest=_chained(head.digest, _content(number, at, event)))

    def to_json(self) -> dict[str, Any]:
        return {**_content(self.number, self.at, self.event), "chain": self.digest}

    def to_line(self) -> bytes:
        return _canonical(self.to_json()) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far a ledger goes: its number of lines, and the digest of the last."""

    lines: int = 0
    digest: str = FIRST

    def to_bytes(self, identity: SiteIdentity) -> bytes:
        fields = asdict(self)
        signature = base64.b64encode(sign_document(identity, _canonical(fields), kind=_HEAD)).decode()
        return _canonical({**fields, "signature": signature}) + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes, public: SitePublicKeys) -> "Head":
        try:
            fields = json.loads(content)
            signature = base64.b64decode(fields.pop("signature"), validate=True)
            head = cls(**fields)
            verify_document(public, _canonical(fields), signature, kind=_HEAD)
        except (ValueError, KeyError, TypeError, AttributeError, FrameRejected):
            raise LedgerRejected(
                f"The head of the ledger was not signed by {public.name!r}, or was altered. Restore both files from a "
                "copy, and ask who changed them."
            ) from None
        return head


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A ledger read to its end. ``torn`` are the bytes of a last line that a crash left unfinished."""

    entries: tuple[Entry, ...]
    torn: bytes

    @property
    def head(self) -> Head:
        return Head(lines=len(self.entries), digest=self.entries[-1].digest) if self.entries else Head()


def read_lines(content: bytes, signed: Head) -> Lines:
    """Every line, each shown to follow from those before it, and all of them there that the signed head counts.

    One line more than it counts is what a crash between writing the line and signing the head leaves behind.
    """
    *whole, torn = content.split(b"\n")
    entries: list[Entry] = []
    head = Head()
    for number, line in enumerate(whole, start=1):
        entries.append(_parsed(number, line, head))
        head = Head(lines=number, digest=entries[-1].digest)
        if head.lines == signed.lines and head != signed:
            raise damaged(number, "is not the one the signed head names: the ledger was written anew from there on")
    if head.lines < signed.lines:
        raise damaged(head.lines + 1, f"is missing, and all up to line {signed.lines} that the signed head counts")
    if head.lines > signed.lines + 1:
        raise damaged(signed.lines + 1, "and those after it were added by somebody without this site's key")
    return Lines(entries=tuple(entries), torn=torn)


def damaged(number: int, what: str) -> LedgerRejected:
    return LedgerRejected(
        f"The ledger was tampered with or damaged: line {number} {what}. Nothing leaves the site on a guess; restore "
        "the ledger from a copy, and ask who changed it."
    )


def _parsed(number: int, line: bytes, before: Head) -> Entry:
    try:
        fields = json.loads(line)
        event = Event(**{name: fields[name] for name in fields if name not in ("line", "at", "chain")})
        entry = Entry.after(before, event, fields["at"])
        same = _canonical(fields) == line and entry.to_json() == fields
    except (ValueError, KeyError, TypeError, AttributeError, BadInput):
        raise damaged(number, "is not an entry") from None
    if not same:
        raise damaged(number, "does not follow from the lines before it: one was changed, moved or lost")
    return entry


def _content(number: int, at: str, event: Event) -> dict[str, Any]:
    said = {name: value for name, value in asdict(event).items() if value not in (None, "", {})}
    return {"line": number, "at": at, **said}


def _chained(digest: str, fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(bytes.fromhex(digest) + _canonical(fields)).hexdigest()


def _canonical(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
