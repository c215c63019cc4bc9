"""UCI Heart Disease: 920 patients of four hospitals, one client each, with what each hospital did not record.

Switzerland wrote cholesterol 0 for every patient, VA Long Beach for 49, and one blood pressure there is 0: these
mean "not recorded" like the "?" of the original files. Outside Cleveland `ca`, `thal` and `slope` are mostly absent.
"""

import io
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.prepare import standardise
from secure_sapefl.data.spec import DatasetSpec, Layout, Options, Stored
from secure_sapefl.data.table import Table

BASE: Final = "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
HOSPITALS: Final = {  # file and MD5, as pinned by FLamby (fed_heart_disease)
    "Cleveland": ("processed.cleveland.data", "2d91a8ff69cfd9616aa47b59d6f843db"),
    "Hungarian": ("processed.hungarian.data", "22e96bee155b5973568101c93b3705f6"),
    "Switzerland": ("processed.switzerland.data", "9a87f7577310b3917730d06ba9349e20"),
    "VA_Long_Beach": ("processed.va.data", "4249d03ca7711e84f4444768c9426170"),
}
FEATURES: Final = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal"),
)
ZERO_MEANS_MISSING: Final = [FEATURES.index("trestbps"), FEATURES.index("chol")]


def _table(arrays: Arrays, _options: Options) -> Table:
    X = arrays["X"]
    if X.ndim != 2 or X.shape[1] != len(FEATURES) or X.dtype.kind != "f":
        raise arrays.bad("X", f"is {X.dtype} of shape {X.shape}, expected floats with {len(FEATURES)} columns")
    if np.isinf(X).any():
        raise arrays.bad("X", "has infinite values; a missing value is NaN")
    X = X.astype(np.float64)
    unrecorded = X[:, ZERO_MEANS_MISSING]
    X[:, ZERO_MEANS_MISSING] = np.where(unrecorded == 0, np.nan, unrecorded)
    y, class_names = arrays.labels(len(X))
    hospitals = arrays.strings("hospital_names")
    return Table(
        X=X,
        y=y,
        class_names=class_names,
        source=f"{arrays.name}, {len(X):,} rows",
        prepare=standardise,
        group=arrays.integers("hospital", len(X), len(hospitals)),
        group_names=hospitals,
    )


def _fetch(fetcher: Fetcher) -> Layout:
    files = [fetcher.file(BASE + name, name, f"md5:{md5}") for name, md5 in HOSPITALS.values()]
    tables = [_parse(file.read_text()) for file in files]
    everything = np.concatenate(tables)
    return {
        "X": everything[:, :-1],
        "y": (everything[:, -1] > 0).astype(np.uint8),
        "num": everything[:, -1].astype(np.uint8),
        "hospital": np.repeat(np.arange(len(tables), dtype=np.uint8), [len(table) for table in tables]),
        "feature_names": np.array(FEATURES),
        "hospital_names": np.array(list(HOSPITALS)),
        "class_names": np.array(["no_disease", "disease"]),
    }


def _parse(text: str) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.loadtxt(io.StringIO(text.replace("?", "nan")), delimiter=",", dtype=np.float32, ndmin=2)


SPEC = DatasetSpec(
    name="heart",
    task="heart disease from 13 clinical attributes; four hospitals are the natural clients",
    classes="2",
    rows=920,
    licence="CC BY 4.0 (the donors ask to be named)",
    source="Janosi, Steinbrunn, Pfisterer, Detrano, 'Heart Disease', UCI ML Repository, dataset 45, 1988",
    preparation="inside each client, from its training rows only: missing values take the lower median, then every "
    "column gets mean 0 and deviation 1; a column the client never recorded is 0; clipped to ±10",
    origin=Stored(key="heart_disease", table=_table, fetch=_fetch),
)
