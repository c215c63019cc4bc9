"""Files that hold secrets: read only when nobody else can, written whole or not at all.

Contents pass through here as `Secret`, so that a traceback from a full disk does not show them.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.secret import Secret

PRIVATE: Final = 0o600
PUBLIC: Final = 0o644
_LARGEST: Final = 2**22


def read(path: Path) -> tuple[Secret, os.stat_result]:
    """A regular file's content and status, both from one open file: nobody can exchange it in between."""
    with _explained(path, "read"), _descriptor(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise KeyRejected(f"{path} is not a key file; name a regular file of at most {_LARGEST} bytes.")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return Secret(file.read(_LARGEST)), status


def read_private(path: Path) -> Secret:
    content, status = read(path)
    require_private(path, status)
    return content


def require_private(path: Path, status: os.stat_result) -> None:
    """Refuse a secret that others own or can read: it may be known to them, or theirs."""
    if status.st_uid != os.geteuid():
        raise KeyRejected(f"{path} belongs to another user; use a key file of your own.")
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~PRIVATE:
        raise KeyRejected(f"{path} has mode {mode:04o}, so others may have read it; make a new key, or `chmod 600` it.")


def write(path: Path, content: Secret, *, mode: int, replace: bool = False) -> None:
    """Write a neighbour, flush it, then give it the name: a crash leaves the old file or the new one, never half."""
    neighbour = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    with _explained(path, "written"):
        try:
            _write_new(neighbour, content, mode)
            if replace:
                neighbour.replace(path)
            else:
                path.hardlink_to(neighbour)  # unlike a rename, fails when the name is taken
            _flush_folder(path.parent)
        finally:
            neighbour.unlink(missing_ok=True)


def _write_new(path: Path, content: Secret, mode: int) -> None:
    with _descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
        os.fchmod(descriptor, mode)
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content.reveal())
        os.fsync(descriptor)


def _flush_folder(folder: Path) -> None:
    with _descriptor(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _descriptor(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise KeyRejected(f"{path} exists and was not touched; choose another name, or say that it may go.") from None
    except OSError as error:
        reason = "it is a symbolic link" if path.is_symlink() else (error.strerror or "unknown reason").lower()
        raise KeyRejected(f"{path} cannot be {verb}: {reason}. Check the path and its folder.") from None
