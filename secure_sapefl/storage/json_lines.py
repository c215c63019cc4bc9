"""A file of JSON, a line a value. A line counts once it ends: a crash may leave half of one, which nobody reads."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from secure_sapefl.storage.files import write_whole


def append(path: Path, value: object) -> None:
    """One line more, on disk when this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[Any]:
    """The value of every whole line."""
    yield from (json.loads(line) for line in _whole(path))


def cut(path: Path, count: int) -> None:
    """Keep the first ``count`` lines."""
    write_whole(path, b"".join(islice(_whole(path), count)))


def _whole(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from (line for line in file if line.endswith(b"\n"))
