"""The ledger on disk: a line of JSON an event, each carrying a digest of itself and of all before it.

One process at a time holds the file (flock, which the kernel releases even after kill -9). A line is synced to disk
before `append` returns. The digests find lines that were changed, lost or moved; a file cut at the end of a line is
found only by comparison with a copy.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.privacy.errors import LedgerBusy, LedgerDamaged
from secure_sapefl.privacy.events import Event


class FileStore:
    """``with FileStore(path) as store: Ledger(site, budget, store)``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        existed = path.exists()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise OutputFailed(f"Cannot open the privacy ledger {path}: {error.strerror}.") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise LedgerBusy(
                f"The privacy ledger {path} is held by another process. One study at a time may spend from it: wait "
                "for the other to end."
            ) from None
        self._digest = ""
        if not existed:
            _sync_folder(path.parent)

    def load(self) -> Sequence[Event]:
        with self.path.open("rb") as file:
            return list(self._verified(file.read()))

    def append(self, events: Sequence[Event]) -> None:
        """Write and sync, or leave the file as it was."""
        digest, lines = self._digest, []
        for event in events:
            digest = _chained(digest, event.to_json())
            lines.append(json.dumps({**event.to_json(), "digest": digest}) + "\n")
        before = os.fstat(self._file).st_size
        try:
            _write_all(self._file, "".join(lines).encode())
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise OutputFailed(
                f"Cannot write to the privacy ledger {self.path}: {error.strerror}. Nothing was released, nothing lost."
            ) from None
        self._digest = digest

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _verified(self, content: bytes) -> Iterator[Event]:
        digest = ""
        for number, line in enumerate(content.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                raise self._damaged(
                    number,
                    "is cut short. If the site was stopped while writing it, nothing was released for it: delete it",
                )
            event, claimed = self._parsed(number, line)
            digest = _chained(digest, event.to_json())
            if claimed != digest:
                raise self._damaged(number, "does not follow from the lines before it: one was changed, moved or lost")
            yield event
        self._digest = digest

    def _parsed(self, number: int, line: bytes) -> tuple[Event, str]:
        try:
            fields = json.loads(line)
            claimed = fields.pop("digest")
            return Event.from_json(fields), claimed
        except (ValueError, KeyError, TypeError, AttributeError, BadInput):
            raise self._damaged(number, "is not an event") from None

    def _damaged(self, number: int, what: str) -> LedgerDamaged:
        return LedgerDamaged(
            f"The privacy ledger {self.path} is damaged: line {number} {what}. Nothing is released on a guess; restore "
            "the file from a copy."
        )


def _chained(digest: str, fields: dict[str, Any]) -> str:
    return hashlib.sha256((digest + json.dumps(fields, sort_keys=True)).encode()).hexdigest()


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _sync_folder(folder: Path) -> None:
    """A new file survives a power cut only once its folder is synced too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
