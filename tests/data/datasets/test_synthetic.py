"""Rows made from the seed."""

import numpy as np

from secure_sapefl.data import build_federation
from secure_sapefl.data.datasets.synthetic import SPEC

ARGUMENTS = {"clients": 20, "partition": "dirichlet", "kappa": 0.3, "seed": 7}


def synthetic(**changes):
    return build_federation("synthetic", **{**ARGUMENTS, **changes})


def test_synthetic_options():
    federation = synthetic(options={"rows": 500, "flip_y": 0.0, "classes": 3, "features": 18})
    assert (federation.class_counts().sum(), federation.classes, federation.shape) == (500, 3, (18,))


def test_without_redrawn_labels_a_cluster_has_one_label_and_the_stream_decides():
    options = SPEC.options | {"rows": 400, "flip_y": 0.0, "class_sep": 20.0, "classes": 2}
    first, again, other = (SPEC.origin.table(options, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    centred = first.X - first.X.mean(0)
    nearest = ((centred[:, None] - centred[None]) ** 2).sum(2) + 1e12 * np.eye(400)
    assert (first.y[nearest.argmin(1)] == first.y).all()
