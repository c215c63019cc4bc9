"""Clients in clusters that disagree on the labels: what is permuted, what is turned, what stays."""

from collections.abc import Callable

import numpy as np
import pytest

from secure_sapefl.data import Federation, build_federation
from secure_sapefl.data.partition import PartitionRequest, clustered, dirichlet
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput

Tables = Callable[..., Table]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def cluster_of(name: str) -> int:
    return int(name.rpartition("-cluster-")[2])


def synthetic(partition: str, **changes: object) -> Federation:
    arguments = {"clients": 10, "kappa": 1.0, "seed": 3, "options": {"rows": 600, "classes": 4}} | changes
    return build_federation("synthetic", partition=partition, **arguments)  # type: ignore[arg-type]


def test_rows_are_dealt_as_by_dirichlet_and_clusters_are_of_equal_size(make_table: Tables) -> None:
    table = make_table(list(range(5)) * 60)
    request = PartitionRequest(clients=10, kappa=0.5, clusters=3)
    shares, plain = clustered(table, request, rng()), dirichlet(table, request, rng())
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(shares, plain, strict=True))
    sizes = np.bincount([cluster_of(share.name) for share in shares])
    assert sorted(sizes.tolist()) == [3, 3, 4]
    assert len({share.name for share in shares}) == 10


def test_one_permutation_a_cluster_on_training_and_test_rows_alike() -> None:
    """The same rows as without clusters, and within a cluster every row renamed by the same permutation."""
    plain, shifted = synthetic("dirichlet"), synthetic("clustered", clusters=3)
    names: dict[int, dict[int, int]] = {}
    for before, after in zip(plain.clients, shifted.clients, strict=True):
        renamed = names.setdefault(cluster_of(after.name), {})
        for old, new in ((before.train, after.train), (before.test, after.test)):
            np.testing.assert_array_equal(old.X, new.X)
            for a, b in zip(old.y.tolist(), new.y.tolist(), strict=True):
                assert renamed.setdefault(a, b) == b
    assert len(names) == 3
    assert all(sorted(permutation.values()) == [0, 1, 2, 3] for permutation in names.values())
    assert len({tuple(sorted(permutation.items())) for permutation in names.values()}) == 3


def test_the_seed_decides() -> None:
    first, again, other = (synthetic("clustered", seed=seed) for seed in (3, 3, 4))
    assert [c.name for c in first.clients] == [c.name for c in again.clients] != [c.name for c in other.clients]


def test_turned_images_are_what_a_model_can_read(tmp_path: object) -> None:
    file = f"{tmp_path}/pictures.npz"
    np.savez(file, X=rng().integers(0, 256, (80, 5, 5), dtype=np.uint8), y=np.arange(80) % 3)
    arguments = {"clients": 4, "kappa": 5.0, "seed": 0}
    plain = build_federation(file, partition="dirichlet", **arguments)  # type: ignore[arg-type]
    turned = build_federation(file, partition="clustered", clusters=4, **arguments)  # type: ignore[arg-type]
    for before, after in zip(plain.clients, turned.clients, strict=True):
        assert after.train.X.flags.c_contiguous
        expected = np.rot90(before.test.X, cluster_of(after.name), axes=(2, 3))  # channels first
        np.testing.assert_array_equal(after.test.X, expected)


@pytest.mark.parametrize("clusters", [0, 11])
def test_a_number_of_clusters_that_clients_cannot_form(clusters: int) -> None:
    with pytest.raises(BadInput, match=f"10 sites cannot form {clusters} clusters"):
        synthetic("clustered", clusters=clusters)
