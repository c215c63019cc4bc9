"""What the lines of a site's ledger say, and the head signed under them. `storage.chain` links them."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import sign_document, verify_document
from secure_sapefl.errors import BadInput, LedgerRejected
from secure_sapefl.storage.chain import Head, Link, canonical, read_link
from secure_sapefl.storage.chained_log import damaged

EventKind = Literal[
    "approved",
    "withdrawn",
    "started",
    "stopped",
    "received",
    "sent",
    "checked",
    "judged",
    "refused",
    "repaired",
    "rotated",
    "published",
    "signed",
]
FIRST: Final = hashlib.sha256(b"sapefl site ledger 1").hexdigest()
_HEAD: Final = "ledger head"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteEvent:
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
    event: SiteEvent
    digest: str

    @classmethod
    def from_link(cls, link: Link) -> "Entry":
        said = dict(link.fields)
        at = said.pop("at")
        event = SiteEvent(**said)
        if fields_of(event, at) != link.fields:
            raise ValueError("an entry says nothing that is empty")
        return cls(number=link.number, at=at, event=event, digest=link.digest)

    def to_json(self) -> dict[str, Any]:
        return Link(self.number, fields_of(self.event, self.at), self.digest).to_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A ledger read to its end. ``torn`` are the bytes of a last line that a crash left unfinished."""

    entries: tuple[Entry, ...]
    head: Head
    torn: bytes


def fields_of(event: SiteEvent, at: str) -> dict[str, Any]:
    """What is written of an event: everything it says, and nothing that is empty."""
    return {"at": at, **{name: value for name, value in asdict(event).items() if value not in (None, "", {})}}


@dataclass(frozen=True, slots=True)
class LedgerFormat:
    """Lines as `storage.chain` has them, under a head signed by the site. Reading needs no ``identity``."""

    path: Path
    public: SitePublicKeys
    identity: SiteIdentity | None = None
    first: str = FIRST
    most_uncounted: int = 1  # lines are written one by one

    @property
    def name(self) -> str:
        return f"site's ledger {self.path}"

    def read_link(self, line: bytes, before: Head) -> Link:
        return read_link(line, before)

    def write_head(self, head: Head) -> bytes:
        assert self.identity is not None, "a ledger is written by its site"
        fields = asdict(head)
        signature = base64.b64encode(sign_document(self.identity, canonical(fields), kind=_HEAD)).decode()
        return canonical({**fields, "signature": signature}) + b"\n"

    def read_head(self, content: bytes, log: bytes) -> Head:  # noqa: ARG002 - a site's ledger never was without a head
        if not content:
            raise LedgerRejected(
                "The head of the ledger is missing, so lines may be missing too. Restore both files from a copy."
            )
        try:
            fields = json.loads(content)
            signature = base64.b64decode(fields.pop("signature"), validate=True)
            verify_document(self.public, canonical(fields), signature, kind=_HEAD)
            return Head(**fields)
        except (ValueError, KeyError, TypeError, AttributeError, FrameRejected):
            raise LedgerRejected(
                f"The head of the ledger was not signed by {self.public.name!r}, or was altered. Restore both files "
                "from a copy, and ask who changed them."
            ) from None

    def read_entry(self, link: Link) -> Entry:
        try:
            return Entry.from_link(link)
        except (ValueError, KeyError, TypeError, BadInput):
            raise damaged(self.name, link.number, "is not an entry") from None
