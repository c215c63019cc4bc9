"""Files that appear whole or not at all, private or ordinary, and folders nobody else may enter.

`sapefl_crypto.keys.safe_file` does the writing: a neighbour, synced, that takes the name at the end.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys import safe_file
from sapefl_crypto.keys.safe_file import replacing as replacing
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import HomeRejected, OutputFailed

PRIVATE_FOLDER: Final = 0o700


def write_whole(path: Path, content: bytes) -> None:
    """All of ``content``, or the file as it was; who may read it is the umask's business."""
    with replacing(path) as file:
        file.write(content)


def write_private(path: Path, content: bytes) -> None:
    """The same with mode 0600."""
    try:
        safe_file.write(path, Secret(content), mode=safe_file.PRIVATE, replace=True)
    except KeyRejected as error:
        raise OutputFailed(str(error)) from None


@contextmanager
def writing(path: Path, next_step: str) -> Iterator[None]:
    """Turn what the disk answers into a sentence, followed by ``next_step``."""
    try:
        yield
    except OSError as error:
        raise OutputFailed(f"Cannot write to {path}: {error.strerror or error}. {next_step}") from None


def remove_unfinished(path: Path) -> None:
    """What a killed process left of attempts to replace ``path``; only for who keeps others out (`storage.lock`)."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)


def make_private_folder(path: Path) -> None:
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputFailed(f"{path} cannot be made: {(error.strerror or 'unknown reason').lower()}.") from None


def require_private_folder(path: Path) -> None:
    """Refuse a folder that others own or may enter: its keys may be known to them."""
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise HomeRejected(f"{path} belongs to another user; run this as its owner.")
    mode = stat.S_IMODE(status.st_mode)
    if mode & ~PRIVATE_FOLDER:
        raise HomeRejected(f"{path} has mode {mode:04o}, so others may look into it; `chmod 700 {path}` first.")
