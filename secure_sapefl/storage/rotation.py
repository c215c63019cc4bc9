"""Logs that do not fill a disk: a full one becomes FILE.1, that one FILE.2, and the last goes.

Flower's programs write to files they hold open. Such a file is copied and then emptied; because it was opened to be
appended to, the program goes on at its new end. A line written between copying and emptying may be lost, which a log
can bear and a ledger could not: ledgers are never rotated.
"""

import os
import shutil
from pathlib import Path
from typing import Final

LARGEST_LOG: Final = 10_000_000  # bytes
OLD_LOGS: Final = 5


def rotate_open(path: Path, largest: int = LARGEST_LOG, old: int = OLD_LOGS) -> bool:
    """Put away what another process has written to ``path``, if that is more than ``largest`` bytes."""
    if not path.exists() or path.stat().st_size <= largest:
        return False
    for number in range(old, 1, -1):
        before = _old(path, number - 1)
        if before.exists():
            before.replace(_old(path, number))
    shutil.copy2(path, _old(path, 1))
    os.truncate(path, 0)
    return True


def _old(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
