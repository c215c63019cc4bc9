"""Files that one process at a time may hold (flock). The kernel lets go of them with the process, even after kill -9.

The lock is on the open file, so a folder may be read by anybody while one process writes it.
"""

import fcntl
import os
from pathlib import Path
from typing import Self

from secure_sapefl.errors import Busy, OutputFailed

_LOCKS = Path("/proc/locks")  # Linux; elsewhere the holder is not named


class Lock:
    """``with Lock(folder / "lock", f"The run in {folder}", "Wait for it to end."): ...``

    ``what`` and ``next_step`` are the sentence of `Busy` when another process has it.
    """

    def __init__(self, path: Path, what: str, next_step: str) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise OutputFailed(f"{what} cannot be locked by {path}: {error.strerror}.") from None
        try:
            hold(self._file, what, next_step)
        except Busy:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def hold(file: int, what: str, next_step: str) -> None:
    """Hold an open file until it is closed, or say who does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Busy(f"{what} is held by {_holder(os.fstat(file))}. {next_step}") from None


def is_held(path: Path) -> bool:
    """Whether some process holds the lock at ``path`` now."""
    if not path.exists():
        return False
    try:
        Lock(path, str(path), "").close()
    except Busy:
        return True
    return False


def _holder(status: os.stat_result) -> str:
    """By its number, where the kernel tells; a holder in another container has none here."""
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in _lines():
        kind, pid, where = line[1], line[4], line[5]
        if kind == "FLOCK" and where == place and int(pid) > 0:
            return f"process {pid}"
    return "another process"


def _lines() -> list[list[str]]:
    """Of `/proc/locks`: ``1: FLOCK  ADVISORY  WRITE 4711 fe:00:2146314 0 EOF``, without those who only wait ("->")."""
    try:
        text = _LOCKS.read_text(encoding="ascii")
    except OSError:
        return []
    return [words for line in text.splitlines() if "->" not in (words := line.split())]
