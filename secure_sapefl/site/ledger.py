"""What left a site, what came, what was decided: on disk before anything leaves.

Every line carries the digest of itself and of all before it, so a changed, lost or moved line is found and named. A
head file beside the ledger, signed with the site's identity, counts the lines, so a tail that was cut off is found too.
What remains possible is to put back an older copy of *both* files; an auditor who keeps the last head he was shown
notices that as well.

One process at a time writes (flock, which the kernel releases even after kill -9). A line torn by a crash was followed
by nothing: it is cut off when the ledger is next opened, and a line of its own says so.
"""

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sapefl_crypto.identity import SiteIdentity, SitePublicKeys
from secure_sapefl.errors import LedgerRejected, OutputFailed
from secure_sapefl.site.ledger_lines import Entry, Event, Head, Lines, read_lines
from secure_sapefl.storage.files import write_private


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """The two files, for whoever only reads them."""

    path: Path

    @property
    def head_path(self) -> Path:
        return self.path.with_suffix(".head")

    def create(self, identity: SiteIdentity) -> None:
        """An empty ledger, made once with the site: a ledger that is missing later was removed by somebody."""
        write_private(self.head_path, Head().to_bytes(identity))

    def read(self, public: SitePublicKeys) -> Lines:
        """Every entry, verified; `LedgerRejected` names the first line that is wrong. Needs no lock and no secret."""
        while True:  # a writer may come between the two reads; a head that stayed the same belongs to what was read
            head, content = _bytes(self.head_path), _bytes(self.path)
            if head == _bytes(self.head_path):
                return _verified(head, content, public)


class SiteLedger:
    """``with SiteLedger(home.ledger_path, identity) as ledger: ledger.append(Event(...))``."""

    def __init__(self, path: Path, identity: SiteIdentity) -> None:
        self.path, self._identity = path, identity
        self._files = LedgerFiles(path)
        self._file = _locked(path)
        try:
            self._head = self._resume()
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> Head:
        return self._head

    def append(self, event: Event) -> Entry:
        """Write and sync the event, then sign the new head. If it returns, the event is there to stay; if it raises,
        the ledger is as it was, and what the event speaks of must not happen."""
        entry = Entry.after(self._head, event, datetime.now(UTC).isoformat(timespec="seconds"))
        before = os.fstat(self._file).st_size
        try:
            _write_all(self._file, entry.to_line())
            os.fsync(self._file)
            self._sign(Head(lines=entry.number, digest=entry.digest))
        except (OSError, OutputFailed) as error:
            os.ftruncate(self._file, before)
            reason = getattr(error, "strerror", None) or str(error).rstrip(".")
            raise OutputFailed(
                f"Cannot write to the site's ledger {self.path}: {reason}. Nothing was sent; make room and start again."
            ) from None
        return entry

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _resume(self) -> Head:
        """Stand where the ledger ends. A crash may have left half a line, or a line the head does not count yet."""
        content = _bytes(self.path)
        lines = _verified(_bytes(self._files.head_path), content, self._identity.public)
        self._head = lines.head
        if lines.torn:
            os.ftruncate(self._file, len(content) - len(lines.torn))
            self.append(Event(kind="repaired", size=len(lines.torn), note="an unfinished last line was cut off"))
        else:
            self._sign(lines.head)
        return self._head

    def _sign(self, head: Head) -> None:
        write_private(self._files.head_path, head.to_bytes(self._identity))
        self._head = head


def _verified(head: bytes, content: bytes, public: SitePublicKeys) -> Lines:
    if not head:
        raise LedgerRejected(
            "The head of the ledger is missing, so lines may be missing too. Restore both files from a copy."
        )
    return read_lines(content, Head.from_bytes(head, public))


def _locked(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise OutputFailed(f"Cannot open the site's ledger {path}: {error.strerror}.") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise LedgerRejected(
            f"The site's ledger {path} is held by another process, perhaps a site that is running. Stop it first."
        ) from None
    return file


def _bytes(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
