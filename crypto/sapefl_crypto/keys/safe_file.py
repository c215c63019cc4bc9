"""Files that hold secrets: read only when nobody else can, written whole or not at all.

Contents pass through here as `Secret`, so that a traceback from a full disk does not show them.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.secret import Secret

PRIVATE: Final = 0o600
PUBLIC: Final = 0o644
_ORDINARY: Final = 0o666  # less what the umask takes away
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
    with _explained(path, "written"), replacing(path, mode=mode, replace=replace) as file:
        file.write(content.reveal())


@contextmanager
def replacing(path: Path, *, mode: int | None = None, replace: bool = True) -> Iterator[BinaryIO]:
    """Write a neighbour, flush it, then give it the name: a crash leaves the old file or the new one, never half.

    Without a ``mode`` the process's umask decides who may read it; without ``replace`` a name that is taken is kept.
    """
    neighbour = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with _descriptor(neighbour, flags, _ORDINARY if mode is None else PRIVATE) as descriptor:
            if mode is not None:
                os.fchmod(descriptor, mode)
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                yield file
            os.fsync(descriptor)
        if replace:
            neighbour.replace(path)
        else:
            path.hardlink_to(neighbour)  # unlike a rename, fails when the name is taken
        _flush_folder(path.parent)
    finally:
        neighbour.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    with _descriptor(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _descriptor(path: Path, flags: int, mode: int = PRIVATE) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
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
