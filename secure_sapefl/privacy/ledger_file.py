"""The privacy ledger on disk: a chained line an event, and a head that counts them (`storage.chained_log`).

The head is not signed: a simulation has nobody to sign it. It finds a file that was cut, removed or replaced alone.
Both files replaced by older ones are found by whoever kept a head: a run that is resumed, a site's own signed ledger.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from secure_sapefl.errors import BadInput, LedgerRejected
from secure_sapefl.privacy.events import Event
from secure_sapefl.storage.chain import ChainBroken, Head, Link, canonical, read_link
from secure_sapefl.storage.chained_log import ChainedLog, damaged, head_path, read_log

_NUMBERED: Final = b'{"line":'  # how a line begins since 0.2.0, which always wrote a head


class FileStore:
    """``with FileStore(path) as store: Ledger(site, budget, store)``."""

    def __init__(self, path: Path) -> None:
        self._form = _Format(path)
        self._log = ChainedLog(path, self._form)

    @property
    def head(self) -> Head:
        return self._log.head

    def load(self) -> Sequence[Event]:
        return [self._form.event(link) for link in self._log.found.links]

    def append(self, events: Sequence[Event]) -> None:
        """Write and sync, or leave the file as it was."""
        self._log.append([event.to_json() for event in events])

    def require(self, known: Head) -> None:
        """Refuse a ledger, as it was opened, that is older or another than one that was seen before."""
        if self._log.found.after(known.lines) != known:
            raise LedgerRejected(
                f"The {self._form.name} had {known.lines} lines when it was last used here; now it has "
                f"{self._log.found.head.lines}, or others. What was spent since would be forgotten, so nothing is "
                "released: put back the file as it was."
            )

    def close(self) -> None:
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_events(path: Path) -> Sequence[Event]:
    """For whoever only looks: without a lock. A ledger that does not exist yet holds nothing."""
    form = _Format(path)
    return [form.event(link) for link in read_log(path, form).links] if path.exists() else []


@dataclass(frozen=True, slots=True)
class _Format:
    path: Path
    first: str = ""
    most_uncounted: None = None  # a round's events are written at once, and counting one too many is safe

    @property
    def name(self) -> str:
        return f"privacy ledger {self.path}"

    def event(self, link: Link) -> Event:
        try:
            return Event.from_json(link.fields)
        except (TypeError, BadInput):
            raise damaged(self.name, link.number, "is not an event") from None

    def read_link(self, line: bytes, before: Head) -> Link:
        return read_link(line, before) if line.startswith(_NUMBERED) else _link_of_0_1(line, before)

    def write_head(self, head: Head) -> bytes:
        return canonical(asdict(head)) + b"\n"

    def read_head(self, content: bytes, log: bytes) -> Head:
        if not content:
            return self._beside_none(log)
        try:
            fields = json.loads(content)
            return Head(int(fields["lines"]), str(fields["digest"]))
        except (ValueError, KeyError, TypeError):
            raise LedgerRejected(f"{head_path(self.path)} is damaged. {self._restore}") from None

    def _beside_none(self, log: bytes) -> Head:
        """A new ledger has no head yet, and one of 0.1.0 never had one."""
        if any(line.startswith(_NUMBERED) for line in log.split(b"\n")):
            raise LedgerRejected(f"{head_path(self.path)} is missing. {self._restore}")
        if log and not log.endswith(b"\n"):
            raise damaged(
                self.name,
                log.count(b"\n") + 1,
                "is cut short. If the site was stopped while writing it, nothing was released for it: delete it",
            )
        return Head(0, self.first)

    @property
    def _restore(self) -> str:
        return f"Without it lines of {self.path.name} may be lost unseen; restore both files from a copy."


def _link_of_0_1(line: bytes, before: Head) -> Link:
    """Version 0.1.0 wrote no numbers and called the digest so."""
    fields = json.loads(line)
    claimed = fields.pop("digest")
    chained = before.digest + json.dumps(fields, sort_keys=True)
    if hashlib.sha256(chained.encode()).hexdigest() != claimed:
        raise ChainBroken(before.lines + 1, "does not follow from the lines before it: one was changed, moved or lost")
    return Link(before.lines + 1, fields, claimed)
