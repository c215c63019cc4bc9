"""UCI Heart Disease: 920 patients of four hospitals, one site each, with what each hospital did not record.

Switzerland wrote cholesterol 0 for every patient, VA Long Beach for 49, and one blood pressure there is 0: these
mean "not recorded" like the "?" of the original files. Outside Cleveland `ca`, `thal` and `slope` are mostly absent.

Option ``standardise``: "site", from each hospital's own training rows; "all", from all training rows together; "auto",
"site" for hospitals and "all" for made-up sites; or "public", from what a clinician can say without seeing a patient.
Ranges are physiological: adults; resting pressure from shock (80 mmHg) to emergency (200);
cholesterol to the far end of familial hypercholesterolaemia; heart rates up to the rule "220 less the age"; ST changes
beyond -3 or 7 mm are not seen in exercise tests. Typical values are those that part normal from abnormal in guidelines
(130 mmHg, 220 mg/dl, 1 mm of depression), a middle age, 85 % of the rate expected there, and the middle of a code.
"""

import io
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.prepare import LearnedScale, PublicScale, Range, standardise
from secure_sapefl.data.spec import DatasetSpec, Layout, Options, Stored, one_of
from secure_sapefl.data.table import Table

SHIPPED: Final = Path(__file__).with_name("heart_disease_4hospitals.npz")
"""The one dataset in this repository; the text file beside it names its donors and its licence."""
BASE: Final = "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
HOSPITALS: Final = {  # file and MD5, as pinned by FLamby (fed_heart_disease)
    "Cleveland": ("processed.cleveland.data", "2d91a8ff69cfd9616aa47b59d6f843db"),
    "Hungarian": ("processed.hungarian.data", "22e96bee155b5973568101c93b3705f6"),
    "Switzerland": ("processed.switzerland.data", "9a87f7577310b3917730d06ba9349e20"),
    "VA_Long_Beach": ("processed.va.data", "4249d03ca7711e84f4444768c9426170"),
}
PUBLIC: Final = {
    "age": Range(20, 100, 55),
    "sex": Range(0, 1, 0.5),
    "cp": Range(1, 4, 2.5),  # chest pain: typical, atypical, other, none
    "trestbps": Range(80, 200, 130),  # resting blood pressure, mmHg
    "chol": Range(100, 600, 220),  # mg/dl
    "fbs": Range(0, 1, 0.5),  # fasting blood sugar above 120 mg/dl
    "restecg": Range(0, 2, 1),
    "thalach": Range(60, 220, 140),  # highest heart rate under exercise
    "exang": Range(0, 1, 0.5),
    "oldpeak": Range(-3, 7, 1),  # ST depression under exercise, mm
    "slope": Range(1, 3, 2),
    "ca": Range(0, 3, 1.5),  # vessels coloured by fluoroscopy
    "thal": Range(3, 7, 5),
}
FEATURES: Final = tuple(PUBLIC)
ZERO_MEANS_MISSING: Final = [FEATURES.index("trestbps"), FEATURES.index("chol")]


def _table(arrays: Arrays, options: Options) -> Table:
    scale = one_of("heart", options, "standardise", ("auto", "site", "all", "public"))
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
        prepare=PublicScale(tuple(PUBLIC.values())) if scale == "public" else standardise,
        learn=LearnedScale.from_rows if scale == "all" else None,
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
    task="heart disease from 13 clinical attributes; four hospitals are the natural sites",
    classes="2",
    rows=920,
    licence="CC BY 4.0 (the donors ask to be named)",
    source="Janosi, Steinbrunn, Pfisterer, Detrano, 'Heart Disease', UCI ML Repository, dataset 45, 1988",
    preparation="inside each site, from its training rows only: missing values take the lower median, then every "
    "column gets mean 0 and deviation 1; a column the site never recorded is 0; clipped to ±10. Made-up sites get "
    "one scale, from all their training rows. In a private study, or with standardise=public: scaled by clinical "
    "ranges, missing values typical, nothing learned",
    origin=Stored(key="heart_disease", table=_table, fetch=_fetch, shipped=SHIPPED),
    options=MappingProxyType({"standardise": "auto"}),
    private_options=MappingProxyType({"standardise": "public"}),
)
