"""The whole way from a name to a federation."""

import subprocess
import sys

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.errors import BadInput

ARGUMENTS = {"clients": 20, "partition": "dirichlet", "kappa": 0.3, "seed": 7}


def synthetic(**changes):
    return build_federation("synthetic", **{**ARGUMENTS, **changes})


def test_the_contract_of_a_federation():
    federation = synthetic()
    assert (federation.shape, federation.classes, len(federation.clients)) == ((20,), 10, 20)
    for client in federation.clients:
        for rows in (client.train, client.test):
            assert rows.X.dtype == np.float32
            assert rows.X.flags.c_contiguous
            assert rows.X.shape == (len(rows), 20)
            assert rows.y.dtype == np.int64
            assert np.isfinite(rows.X).all()
    assert federation.class_counts().sum() == 10_000
    assert "10,000 rows" in federation.source


def test_the_same_arguments_give_the_same_federation_and_another_seed_another():
    first, again, other = synthetic(), synthetic(), synthetic(seed=8)
    for a, b in zip(first.clients, again.clients, strict=True):
        np.testing.assert_array_equal(a.train.X, b.train.X)
        np.testing.assert_array_equal(a.test.y, b.test.y)
    assert not np.array_equal(first.class_counts(), other.class_counts())


def test_no_row_is_in_two_places():
    rows = np.concatenate([side.X for client in synthetic().clients for side in (client.train, client.test)])
    assert len(np.unique(rows, axis=0)) == len(rows) == 10_000


def test_a_part_of_the_rows_is_a_part_and_says_so():
    federation = synthetic(rows=600)
    assert federation.class_counts().sum() == 600
    assert "a random 600 of them" in federation.source
    whole = {row.tobytes() for client in synthetic().clients for side in (client.train, client.test) for row in side.X}
    assert all(row.tobytes() in whole for client in federation.clients for row in client.train.X)
    assert synthetic(rows=10**9).source == synthetic().source


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kappa": 0.0}, "kappa is 0.0"),
        ({"kappa": float("nan")}, "kappa is nan"),
        ({"kappa": float("inf")}, "kappa is inf"),
        ({"kappa": 1e307}, r"kappa is 1e\+307"),
        ({"clients": 0}, "clients is 0"),
        ({"clients": 1001}, "at most 1000 sites"),
        ({"seed": -1}, "seed is -1"),
        ({"partition": "natural"}, "no groups"),
        ({"partition": "dirichlett"}, "Did you mean 'dirichlet'"),
        ({"options": {"flip": 0.1}}, "Did you mean 'flip_y'"),
        ({"options": {"rows": "many"}}, "expected int"),
        ({"options": {"classes": 10, "informative": 1}}, "do not fit together"),
        ({"label": "y"}, "registered dataset"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(BadInput, match=message):
        synthetic(**changes)


def test_the_package_needs_neither_torch_nor_torchvision():
    code = (
        "import sys; from secure_sapefl.data import build_federation as b;"
        "b('synthetic', clients=5, partition='iid', kappa=1.0, seed=0);"
        "print(sorted(m for m in ('torch', 'torchvision', 'matplotlib', 'typer') if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
