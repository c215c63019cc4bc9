"""The files behind datasets: which rows a result was made from."""

import hashlib
from functools import lru_cache
from pathlib import Path

from secure_sapefl.data import DATASETS
from secure_sapefl.data.spec import Stored
from secure_sapefl.data.store import locate


def data_digest(dataset: str, data_dir: Path | None) -> str | None:
    """Of the content of a dataset's file; None for generated data, which the configuration describes whole."""
    path = _path(dataset, data_dir)
    if path is None or not path.exists():
        return None
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return _content_digest(tuple((file, file.stat().st_mtime_ns) for file in files))


def _path(dataset: str, data_dir: Path | None) -> Path | None:
    if dataset not in DATASETS:
        return Path(dataset).expanduser()
    origin = DATASETS[dataset].origin
    return locate(origin, data_dir) if isinstance(origin, Stored) else None


@lru_cache(maxsize=64)
def _content_digest(files: tuple[tuple[Path, int], ...]) -> str:
    """The time of the last change is only there to read a changed file again."""
    digest = hashlib.sha256()
    for file, _ in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:24]
