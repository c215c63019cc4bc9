"""The files behind a result: its dataset's, its schema, and the public ranges its rows were scaled by."""

import hashlib
from functools import lru_cache
from pathlib import Path

from secure_sapefl.config import Config
from secure_sapefl.data import DATASETS
from secure_sapefl.data.spec import Stored
from secure_sapefl.data.store import locate


def data_digest(config: Config) -> str | None:
    """Of the content of the files; None for generated data, which the configuration describes whole."""
    files = [*_files(_path(config.dataset, config.data_dir)), *_files(_ranges(config)), *_files(config.data_schema)]
    versions = tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return _content_digest(versions) if versions else None


def _files(path: Path | None) -> list[Path]:
    if path is None or not path.exists():
        return []
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _ranges(config: Config) -> Path | None:
    """The file that the option ``ranges`` of a table of one's own names."""
    name = config.data_options.get("ranges")
    return Path(name).expanduser() if isinstance(name, str) and name else None


def _path(dataset: str, data_dir: Path | None) -> Path | None:
    if dataset not in DATASETS:
        return Path(dataset).expanduser()
    origin = DATASETS[dataset].origin
    return locate(origin, data_dir) if isinstance(origin, Stored) else None


@lru_cache(maxsize=64)
def _content_digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Size and time of the last change are only there to read a changed file again."""
    digest = hashlib.sha256()
    for file, _, _ in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:24]
