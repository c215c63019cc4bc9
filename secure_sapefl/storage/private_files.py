"""Private files that are written whole or not at all, and folders nobody else may enter."""

import os
import stat
from pathlib import Path
from typing import Final

from sapefl_crypto import safe_file
from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.secret import Secret
from secure_sapefl.errors import HomeRejected, OutputFailed

PRIVATE_FOLDER: Final = 0o700


def write_private(path: Path, content: bytes) -> None:
    """Mode 0600, synced to disk; a crash leaves the old file or the new one."""
    try:
        safe_file.write(path, Secret(content), mode=safe_file.PRIVATE, replace=True)
    except KeyRejected as error:
        raise OutputFailed(str(error)) from None


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
