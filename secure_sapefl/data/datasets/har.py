"""UCI HAR: six activities of 30 people, from windows of 2.56 s of a phone's accelerometer and gyroscope.

Windows overlap by half, so neighbours share samples. Consecutive overlapping windows form a segment, and segments
stay whole everywhere. The official 561-feature table is used where the file or folder has it; otherwise the
statistics of `signals.py` are computed from the nine inertial channels and the three vector lengths. With
``features=raw`` a row is the window itself, 128 samples of nine channels, for models that read sequences.
"""

import zipfile
from types import MappingProxyType
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.datasets.har_archive import FOLDER, read_folder
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.prepare import Floats, as_given
from secure_sapefl.data.signals import window_statistics, with_magnitudes
from secure_sapefl.data.spec import DatasetSpec, Layout, Options, Stored, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.errors import DataUnavailable

URL: Final = "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip"
AXES: Final = ((0, 1, 2), (3, 4, 5), (6, 7, 8))  # body acceleration, rotation, total acceleration


def _table(arrays: Arrays, options: Options) -> Table:
    features, kind = _features(arrays, one_of("har", options, "features", ("auto", "official", "derived", "raw")))
    y, class_names = arrays.labels(len(features))
    subjects, group = np.unique(arrays.per_row("subject", len(features)), return_inverse=True)
    return Table(
        X=features,
        y=y,
        class_names=class_names,
        source=f"{arrays.name}, {len(features):,} rows, {kind} features",
        prepare=as_given,
        group=group.astype(np.int64),
        group_names=tuple(f"subject-{subject:02d}" for subject in subjects.tolist()),
        segment=arrays.per_row("segment", len(features)).astype(np.int64),
    )


def _features(arrays: Arrays, wanted: str) -> tuple[Floats, str]:
    if wanted == "official" or (wanted == "auto" and "features" in arrays):
        return _finite(arrays, "features", 2), "official"
    windows = _finite(arrays, "X", 3)
    if windows.shape[1:] != (128, 9):
        raise arrays.bad("X", f"has shape {windows.shape}, expected windows of 128 samples in 9 channels")
    if wanted == "raw":
        return windows, "raw"
    return window_statistics(with_magnitudes(windows, AXES)), "derived"


def _finite(arrays: Arrays, name: str, dimensions: int) -> Floats:
    values = arrays[name]
    if values.ndim != dimensions or values.dtype.kind != "f" or not np.isfinite(values).all():
        raise arrays.bad(name, f"must hold finite floats in {dimensions} dimensions")
    return values.astype(np.float32)


def _fetch(fetcher: Fetcher) -> Layout:
    """UCI publishes no checksum for this archive: the first download is remembered."""
    archive = fetcher.file(URL, "uci_har.zip", None)
    try:
        with zipfile.ZipFile(archive) as outer:
            if f"{FOLDER}.zip" not in outer.namelist():
                return read_folder(zipfile.Path(outer, f"{FOLDER}/"))
            with outer.open(f"{FOLDER}.zip") as file, zipfile.ZipFile(file) as inner:
                return read_folder(zipfile.Path(inner, f"{FOLDER}/"))
    except (zipfile.BadZipFile, FileNotFoundError, KeyError) as error:
        raise DataUnavailable(f"{URL} is not the archive it was ({error}).") from error


SPEC = DatasetSpec(
    name="har",
    task="six activities from a phone's accelerometer and gyroscope; 30 people are the natural sites",
    classes="6",
    rows=10_299,
    licence="CC BY 4.0 at UCI; the dataset's README asks for citation and forbids commercial use",
    source="Anguita, Ghio, Oneto, Parra, Reyes-Ortiz, 'A Public Domain Dataset for Human Activity Recognition Using "
    "Smartphones', ESANN 2013; UCI ML Repository, dataset 240",
    preparation="the official 561 features where present, else 14 statistics of 12 channels (168); fixed formulas, "
    "nothing learned; overlapping windows stay together",
    origin=Stored(key="uci_har", table=_table, fetch=_fetch, folder=FOLDER, unpacked=read_folder),
    options=MappingProxyType({"features": "auto"}),
)
