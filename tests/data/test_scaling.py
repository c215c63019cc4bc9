"""Whose training rows a table is scaled by: everybody's, through sums, or a site's own."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.data import Federation, build_federation

CLASSES, ROWS = 4, 600
ALL, SITE = "one fill and scale for all sites, agreed by sums", "a scale of its own at each site"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four clouds of points, far from the origin, in two groups."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("own") / "mine.npz"
    centres, y = 3 * rng.normal(size=(CLASSES, 4)), np.arange(ROWS) % CLASSES
    np.savez(path, X=100 + 7 * (rng.normal(size=(ROWS, 4)) + centres[y]), y=y, group=np.arange(ROWS) // (ROWS // 2))
    return path


def federation(path: Path, partition: str | None, **how: object) -> Federation:
    return build_federation(str(path), clients=None, partition=partition, kappa=0.1, seed=0, **how)  # type: ignore[arg-type]


def test_under_label_skew_the_default_keeps_what_tells_classes_apart(own: Path) -> None:
    """A client that holds one class alone has that class's mean: taken away, nothing is left to learn from."""

    def accuracy(**more: str) -> float:
        settings = {"clients": 20, "kappa": 0.1, "rounds": 5, "local_epochs": 2, "evaluate_every": 5, "workers": 0}
        how = {"method": "fedavg", "protection": "plaintext", "partition": "dirichlet", **more}
        return simulate(Config(dataset=str(own), **settings, **how)).accuracy.mean

    assert accuracy() > 0.9
    assert accuracy(preparation="site") < 0.7


def test_the_common_scale_is_learned_from_all_training_rows_and_from_no_other(own: Path) -> None:
    trained = np.concatenate([client.train.X for client in federation(own, "dirichlet").clients])
    np.testing.assert_allclose(trained.mean(0), 0, atol=1e-4)  # places on a range have 4,096 steps
    np.testing.assert_allclose(trained.std(0), 1, atol=1e-4)


@pytest.mark.parametrize(
    ("partition", "how", "used"),
    [
        (None, {}, ALL),
        ("natural", {}, ALL),
        ("dirichlet", {}, ALL),
        ("clustered", {}, ALL),
        ("natural", {"preparation": "common"}, ALL),
        ("natural", {"preparation": "site"}, SITE),
        ("dirichlet", {"preparation": "site"}, SITE),
        ("dirichlet", {"options": {"standardise": "none"}}, "as given"),
    ],
)
def test_the_federation_says_which_scale_was_used(
    own: Path, partition: str | None, how: dict[str, object], used: str
) -> None:
    made = federation(own, partition, **how)
    assert made.preparation.startswith(used)
    assert made.learned == (used != "as given")


def test_a_file_without_groups_is_divided_into_made_up_clients(own: Path, tmp_path: Path) -> None:
    with np.load(own) as arrays:
        np.savez(tmp_path / "mine.npz", X=arrays["X"], y=arrays["y"])
    assert federation(tmp_path / "mine.npz", None).preparation.startswith(ALL)


def test_each_site_is_centred_on_its_own_if_asked(own: Path) -> None:
    for client in federation(own, None, preparation="site").clients:
        np.testing.assert_allclose(client.train.X.mean(0), 0, atol=1e-5)


def test_the_summary_says_so_too(own: Path) -> None:
    config = Config(dataset=str(own), rounds=1, local_epochs=1, protection="plaintext", method="local")
    assert simulate(config).summary()["preparation"].startswith(ALL)


def test_one_site_has_nobody_to_agree_with(own: Path) -> None:
    made = build_federation(str(own), clients=1, partition="iid", kappa=1.0, seed=0)
    assert made.preparation.startswith(SITE)
    assert made.agreed is None
