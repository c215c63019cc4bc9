"""The files behind a result: its dataset's, its schema, the public ranges its rows were scaled by, and own code."""

import hashlib
from functools import lru_cache
from pathlib import Path

from secure_sapefl.algorithms.own import find as find_method
from secure_sapefl.config import Config
from secure_sapefl.data import spec_of
from secure_sapefl.data.spec import Stored
from secure_sapefl.data.store import locate
from secure_sapefl.engine.assembly import build_of
from secure_sapefl.models.states import read_state
from secure_sapefl.own_code import load, names_own_code
from secure_sapefl.tasks.own import find as find_task


def data_digest(config: Config) -> str | None:
    """Of the content of the files; None for generated data, which the configuration describes whole."""
    files = [*_files(_path(config.dataset, config.data_dir)), *_files(_ranges(config)), *_files(config.data_schema)]
    versions = tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return _content_digest(versions) if versions else None


def own_sources(config: Config) -> dict[str, dict[str, str]]:
    """Digests of methods, tasks, models and weights that are not ours; nothing where all are."""
    found = dict(find_method(config.method).sources)
    if config.task is not None:
        found |= find_task(config.task).sources
    model = load(config.model, "model") if names_own_code(config.model) else build_of(config)
    if model is not None:
        found["model"] = model.digest
    if config.init is not None:
        found["init"] = read_state(config.init).digest
    return {"sources": found} if found else {}


def _files(path: Path | None) -> list[Path]:
    if path is None or not path.exists():
        return []
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _ranges(config: Config) -> Path | None:
    """The file that the option ``ranges`` of a table of one's own names."""
    name = config.data_options.get("ranges")
    return Path(name).expanduser() if isinstance(name, str) and name else None


def _path(dataset: str, data_dir: Path | None) -> Path | None:
    spec = spec_of(dataset)
    if spec is None:
        return Path(dataset).expanduser()
    return locate(spec.origin, data_dir) if isinstance(spec.origin, Stored) else None


@lru_cache(maxsize=64)
def _content_digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Size and time of the last change are only there to read a changed file again."""
    digest = hashlib.sha256()
    for file, _, _ in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:24]
