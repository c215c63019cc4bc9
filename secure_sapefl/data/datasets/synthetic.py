"""The paper's synthetic task: scikit-learn's `make_classification` with 40 % of the labels redrawn."""

from types import MappingProxyType

import numpy as np

from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.spec import DatasetSpec, Generated, Options
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput


def _table(options: Options, rng: np.random.Generator) -> Table:
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
        {"rows": 10_000, "features": 20, "informative": 15, "classes": 10, "flip_y": 0.4, "class_sep": 1.0}
    ),
)
