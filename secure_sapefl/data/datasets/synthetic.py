"""The paper's synthetic task: scikit-learn's `make_classification` with 40 % of the labels redrawn.

Option ``labels``: "class"; "number", for regression, a noisy sum of bent features; or "yes-no", for several labels,
each the sign of such a sum.
"""

from types import MappingProxyType

import numpy as np

from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.spec import DatasetSpec, Generated, Options, one_of
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels, Scale


def _table(options: Options, rng: np.random.Generator) -> Table:
    kind = one_of("synthetic", options, "labels", ("class", "number", "yes-no"))
    if kind == "class":
        return _classes(options, rng)
    X = rng.normal(size=(options["rows"], options["features"]))
    columns = 1 if kind == "number" else options["classes"]
    weights = rng.normal(size=(options["features"], columns)) / np.sqrt(options["features"])
    noise = rng.normal(size=(len(X), columns))
    sums = np.tanh(X) @ weights * 1.5 + options["flip_y"] * noise
    return Table(
        X=X.astype(np.float32),
        y=sums if kind == "number" else (sums > 0).astype(np.float64),
        class_names=("y",) if kind == "number" else tuple(f"label {k}" for k in range(columns)),
        source=f"generated sums, {len(X):,} rows, noise {options['flip_y']}",
        prepare=as_given,
        labels=Labels("number", Scale((0.0,), (1.0,), public=True)) if kind == "number" else Labels("yes-no"),
    )


def _classes(options: Options, rng: np.random.Generator) -> Table:
    from sklearn.datasets import make_classification  # a second to import; only this dataset needs it

    try:
        X, y = make_classification(
            n_samples=options["rows"],
            n_features=options["features"],
            n_informative=options["informative"],
            n_classes=options["classes"],
            flip_y=options["flip_y"],
            class_sep=options["class_sep"],
            random_state=int(rng.integers(2**32)),
        )
    except ValueError as error:
        raise BadInput(f"synthetic: these options do not fit together ({error}).") from error
    return Table(
        X=X.astype(np.float32),
        y=y.astype(np.int64),
        class_names=tuple(str(label) for label in range(options["classes"])),
        source=f"make_classification, {len(y):,} rows, flip_y={options['flip_y']}",
        prepare=as_given,
    )


SPEC = DatasetSpec(
    name="synthetic",
    task="Gaussian clusters on the corners of a hypercube, labels redrawn with probability 0.4",
    classes="10",
    rows=10_000,
    licence="none needed: generated",
    source="Guyon, 'Design of experiments for the NIPS 2003 variable selection benchmark'; scikit-learn",
    preparation="20 features used as generated (15 informative, 2 redundant, 3 noise); the run's seed makes the rows. "
    "A redrawn label hits its old class one time in ten, so 36 % are wrong and no honest model exceeds 0.64.",
    origin=Generated(_table),
    options=MappingProxyType(
        {
            "rows": 10_000,
            "features": 20,
            "informative": 15,
            "classes": 10,
            "flip_y": 0.4,
            "class_sep": 1.0,
            "labels": "class",
        }
    ),
)
