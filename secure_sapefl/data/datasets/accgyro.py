"""UCI Accelerometer Gyro Mobile Phone: 31,991 samples at about 10 Hz, 98 % of them walking.

The file has no user and no split. It is cut in file order into windows that share no sample, so no test window holds
a piece of a training window. Neighbouring windows still come from the same walk; accuracy is optimistic for a phone
never seen before. A window is "standing" when at least half of it is.

All standing samples (571) lie between rows 20,923 and 21,951: with windows of one second 57 of 3,199 are standing.
A Dirichlet partition gives them to few sites, most sites hold walking alone, and their AUC is undefined. Read
the AUC of the others beside how many they are; accuracy says next to nothing here.
"""

import io
import zipfile
from types import MappingProxyType
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.signals import window_statistics, with_magnitudes
from secure_sapefl.data.spec import DatasetSpec, Layout, Options, Stored
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput, DataUnavailable

URL: Final = "https://archive.ics.uci.edu/static/public/755/accelerometer+gyro+mobile+phone+dataset.zip"
CSV: Final = "accelerometer_gyro_mobile_phone_dataset.csv"
FEATURES: Final = ("accX", "accY", "accZ", "gyroX", "gyroY", "gyroZ")
GRAVITY: Final = 9.80665  # m/s² in a g: the statistics expect g and rad/s
SHORTEST_WINDOW: Final = 8  # below this the frequency bands are empty


def _table(arrays: Arrays, options: Options) -> Table:
    signal, window = arrays["X"], options["window"]
    if signal.ndim != 2 or signal.shape[1] != len(FEATURES):
        raise arrays.bad("X", f"has shape {signal.shape}, expected samples x {len(FEATURES)} channels")
    if not np.isfinite(signal).all():
        raise arrays.bad("X", "has NaN or infinite values")
    if not SHORTEST_WINDOW <= window <= len(signal):
        raise BadInput(f"accgyro: window is {window} samples, expected {SHORTEST_WINDOW}..{len(signal)}.")
    labels, class_names = arrays.labels(len(signal))
    count = len(signal) // window
    used = count * window
    units = np.array([GRAVITY] * 3 + [1.0] * 3, np.float32)
    windows = (signal[:used].astype(np.float32) / units).reshape(count, window, len(FEATURES))
    walking = labels[:used].reshape(count, window).mean(axis=1) > 0.5
    return Table(
        X=window_statistics(with_magnitudes(windows, ((0, 1, 2), (3, 4, 5)))),
        y=walking.astype(np.int64),
        class_names=class_names,
        source=f"{arrays.name}, {len(signal):,} samples in {count:,} windows of {window}",
        prepare=as_given,
    )


def _fetch(fetcher: Fetcher) -> Layout:
    """UCI publishes no checksum for this archive: the first download is remembered."""
    archive = fetcher.file(URL, "accgyro.zip", None)
    try:
        with zipfile.ZipFile(archive) as files:
            text = files.read(CSV).decode("utf-8-sig")
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataUnavailable(f"{URL} is not the archive it was ({error}).") from error
    header, rows = text.splitlines()[0].split(","), io.StringIO(text)
    columns = {name: header.index(name) for name in (*FEATURES, "timestamp", "Activity")}
    table = np.loadtxt(rows, delimiter=",", skiprows=1, dtype=np.str_)
    return {
        "X": table[:, [columns[name] for name in FEATURES]].astype(np.float32),
        "y": table[:, columns["Activity"]].astype(np.uint8),
        "timestamp": table[:, columns["timestamp"]],
        "feature_names": np.array(FEATURES),
        "class_names": np.array(["standing", "walking"]),
    }


SPEC = DatasetSpec(
    name="accgyro",
    task="standing or walking, from one second of phone accelerometer and gyroscope",
    classes="2",
    rows=31_991,
    licence="CC BY 4.0",
    source="'Accelerometer Gyro Mobile Phone Dataset', UCI ML Repository, dataset 755, 2022",
    preparation="windows of 10 samples without overlap, 14 statistics of 8 channels; fixed formulas, nothing learned",
    origin=Stored(key="accgyro", table=_table, fetch=_fetch),
    options=MappingProxyType({"window": 10}),
)
