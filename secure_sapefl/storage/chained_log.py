"""A file to which one process at a time appends chained lines (`storage.chain`), and a head beside it that counts them.

Lines are synced to disk, then the head, before `append` returns. A changed, lost or moved line is found by the chain, a
tail that was cut off by the head. A line torn by a crash was followed by nothing: it is cut off at the next opening.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

from secure_sapefl.errors import LedgerRejected, OutputFailed
from secure_sapefl.storage.chain import Chain, ChainBroken, Fields, Head, Link, read_chain, require_counted
from secure_sapefl.storage.files import write_private
from secure_sapefl.storage.lock import hold


class Format(Protocol):
    """What tells one log from another: its name in a sentence, its first digest, how its lines and head are written."""

    @property
    def name(self) -> str: ...

    @property
    def first(self) -> str: ...

    @property
    def most_uncounted(self) -> int | None: ...

    def read_link(self, line: bytes, before: Head) -> Link: ...

    def write_head(self, head: Head) -> bytes: ...

    def read_head(self, content: bytes, log: bytes) -> Head:
        """``content`` is empty where there is no head; ``log`` is the file it stands beside."""


class ChainedLog:
    """``with ChainedLog(path, form) as log: log.append([{"kind": "sent"}])``. ``found`` is what was there before."""

    def __init__(self, path: Path, form: Format) -> None:
        self._path, self._form = path, form
        self._file = _opened(path, form.name)
        try:
            hold(self._file, f"The {form.name}", "Only one may write to it: wait for that one to end, or stop it.")
            self.found = self._resume()
            self.head = self.found.head
        except BaseException:
            self.close()
            raise

    def append(self, entries: Sequence[Fields]) -> tuple[Link, ...]:
        """Write and sync the entries, then the new head. If it returns, they are there to stay; if it raises, the log
        is as it was, and what they speak of must not happen."""
        if not entries:
            return ()
        links = _linked(self.head, entries)
        before = os.fstat(self._file).st_size
        try:
            _write_all(self._file, b"".join(link.to_line() for link in links))
            os.fsync(self._file)
            self._write_head(links[-1].head)
        except (OSError, OutputFailed) as error:
            os.ftruncate(self._file, before)
            with suppress(OutputFailed):  # it may have taken its name before the disk failed
                self._write_head(self.head)
            reason = getattr(error, "strerror", None) or str(error).rstrip(".")
            raise OutputFailed(
                f"Cannot write to the {self._form.name}: {reason}. Nothing was sent; make room and start again."
            ) from None
        self.head = links[-1].head
        return links

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resume(self) -> Chain:
        """Stand where the log ends. A crash may have left half a line, or lines the head does not count yet."""
        content, head = _bytes(self._path), _bytes(head_path(self._path))
        chain = _verified(head, content, self._form)
        if chain.torn:
            os.ftruncate(self._file, len(content) - len(chain.torn))
        if head != (now := self._form.write_head(chain.head)):
            write_private(head_path(self._path), now)
        return chain

    def _write_head(self, head: Head) -> None:
        write_private(head_path(self._path), self._form.write_head(head))


def head_path(path: Path) -> Path:
    return path.with_suffix(".head")


def read_log(path: Path, form: Format) -> Chain:
    """Every line, verified; `LedgerRejected` names the first that is wrong. Needs no lock and no secret."""
    while True:  # a writer may come between the two reads; a head that stayed the same belongs to what was read
        head, content = _bytes(head_path(path)), _bytes(path)
        if head == _bytes(head_path(path)):
            return _verified(head, content, form)


def damaged(name: str, number: int, what: str) -> LedgerRejected:
    return LedgerRejected(
        f"In the {name}, line {number} {what}. It was damaged or tampered with, and nothing is released on a guess: "
        "restore it from a copy, and ask who changed it."
    )


def _verified(head: bytes, content: bytes, form: Format) -> Chain:
    counted = form.read_head(head, content)
    try:
        chain = read_chain(content, form.first, form.read_link)
        require_counted(chain, counted, form.most_uncounted)
    except ChainBroken as error:
        raise damaged(form.name, error.number, error.what) from None
    return chain


def _linked(head: Head, entries: Sequence[Fields]) -> tuple[Link, ...]:
    links: list[Link] = []
    for fields in entries:
        links.append(Link.after(links[-1].head if links else head, fields))
    return tuple(links)


def _opened(path: Path, name: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise OutputFailed(f"Cannot open the {name}: {error.strerror}.") from None


def _bytes(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
