"""Where a stored dataset lies: the user's folder, the cache of what was fetched, this package, then its publisher.

The user's folder is ``--data-dir``, or else the environment variable SAPEFL_DATA. The cache is SAPEFL_CACHE, or
else ``secure-sapefl`` in the XDG cache folder.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.fetch import Fetcher, Progress, no_progress
from secure_sapefl.data.spec import DatasetSpec, Layout, Stored
from secure_sapefl.errors import BadInput, DataUnavailable
from secure_sapefl.storage.files import replacing, writing

MAY_FOLLOW_KEY: Final = ("_", "-", ".")  # so that `cifar10` finds cifar10_18k.npz and not cifar100_12k.npz


def cache_folder() -> Path:
    if chosen := os.environ.get("SAPEFL_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "secure-sapefl"


def user_folder(data_dir: Path | None) -> Path | None:
    named = os.environ.get("SAPEFL_DATA")
    folder = data_dir or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        origin = "--data-dir" if data_dir else "SAPEFL_DATA"
        raise BadInput(f"{origin} names {folder}, which is not a folder. Give the folder that holds the .npz files.")
    return folder


def locate(origin: Stored, data_dir: Path | None) -> Path | None:
    """The file (or the publisher's unpacked folder) that serves a dataset, if it is on this machine."""
    for folder in _folders(data_dir):
        if origin.folder and (folder / origin.folder).is_dir():
            return folder / origin.folder
        files = [path for path in sorted(folder.glob(f"{origin.key}*.npz")) if _serves(path, origin.key)]
        if len(files) > 1:
            names = ", ".join(path.name for path in files)
            raise BadInput(f"{folder} holds {len(files)} files for {origin.key!r}: {names}. Keep one of them there.")
        if files:
            return files[0]
    return origin.shipped


def stored_arrays(spec: DatasetSpec, origin: Stored, data_dir: Path | None, progress: Progress = no_progress) -> Arrays:
    """Read the dataset, fetching it from its publisher where this machine does not have it."""
    path = locate(origin, data_dir)
    if path is None:
        path = fetch(spec, origin, progress)
    if path.is_dir():
        assert origin.unpacked is not None  # locate() only returns the folder of an origin that can read it
        return Arrays(path.name, origin.unpacked(path))
    return read_npz(path)


def fetch(spec: DatasetSpec, origin: Stored, progress: Progress = no_progress) -> Path:
    """Download into the cache and keep the dataset there as one `.npz`."""
    cache = cache_folder()
    downloads = cache / "downloads" / spec.name
    try:
        layout = origin.fetch(Fetcher(folder=downloads, progress=progress))
    except DataUnavailable as error:
        raise DataUnavailable(
            f"{error} {spec.name!r} is not on this machine: where there is a network, run `secure-sapefl data fetch "
            f"{spec.name}`; elsewhere put {origin.key}*.npz into a folder and name it with --data-dir or SAPEFL_DATA."
        ) from error
    saved = save_layout(cache / f"{origin.key}.npz", layout)
    shutil.rmtree(downloads, ignore_errors=True)
    return saved


def _folders(data_dir: Path | None) -> Iterator[Path]:
    mine = user_folder(data_dir)
    if mine is not None:
        yield mine
    yield cache_folder()


def _serves(path: Path, key: str) -> bool:
    return path.name.removeprefix(key).startswith(MAY_FOLLOW_KEY)


def save_layout(target: Path, layout: Layout) -> Path:
    with writing(target, "Set SAPEFL_CACHE elsewhere."):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            np.savez_compressed(file, allow_pickle=False, **layout)
    return target
