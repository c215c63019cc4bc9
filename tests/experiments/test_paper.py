"""The published numbers, spot-checked against the paper's tables."""

import json
from importlib.resources import files

import pytest

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.data import DATASETS
from secure_sapefl.experiments import paper
from secure_sapefl.experiments.paper import Ablation, Metric, published, published_ablation


@pytest.mark.parametrize(
    ("metric", "dataset", "method", "mean", "std"),
    [
        ("accuracy", "synthetic", "sapefl", 90.83, 0.49),
        ("accuracy", "har", "fedas", 80.20, 0.32),
        ("accuracy", "cifar100", "lcfed", 44.23, 0.85),
        ("accuracy", "emnist", "local", 63.26, 0.23),
        ("auc", "fmnist", "sapefl", 88.69, 0.45),
        ("auc", "accgyro", "fedprox", 80.59, 0.40),
    ],
)
def test_main_tables(metric: Metric, dataset: str, method: str, mean: float, std: float) -> None:
    estimate = published(metric, dataset, method)
    assert estimate is not None
    assert (100 * estimate.mean, 100 * (estimate.std or 0)) == pytest.approx((mean, std))


@pytest.mark.parametrize(
    ("name", "dataset", "value", "mean"),
    [
        ("influence", "synthetic", 0.75, 89.12),
        ("influence", "emnist", 0.0, 73.29),
        ("kappa", "accgyro", 1.0, 79.06),
        ("kappa", "synthetic", 0.3, 90.66),
        ("threshold", "mnist", 0.8, 79.69),
    ],
)
def test_ablations(name: Ablation, dataset: str, value: float, mean: float) -> None:
    estimate = published_ablation(name, dataset, value)
    assert estimate is not None
    assert 100 * estimate.mean == pytest.approx(mean)


def test_what_the_paper_does_not_have_is_none() -> None:
    assert published("accuracy", "heart", "sapefl") is None
    assert published("accuracy", "synthetic", "fedavg-ft") is None
    assert published_ablation("threshold", "emnist", 0.2) is None


def test_all_216_numbers_are_there_under_names_of_ours() -> None:
    tables = json.loads(files("secure_sapefl.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8"))
    parts = ("accuracy", "auc", "influence", "kappa", "threshold")
    assert sum(len(row) for part in parts for row in tables[part].values()) == 216
    assert set(paper.datasets()) <= set(DATASETS)
    assert {"local", "fedavg", "sapefl"} <= set(tables["accuracy"]["har"]) & set(ALGORITHMS)
    assert "SAPE-FL" in tables["source"]


def test_the_values_the_ablations_vary() -> None:
    assert paper.ablation_values("influence") == (0, 0.25, 0.5, 0.75, 1)
    assert paper.ablation_values("kappa") == (0.2, 0.3, 0.4, 0.5, 0.6, 1)
    assert paper.ablation_values("threshold") == (0.2, 0.4, 0.6, 0.8)
    assert paper.ablation_datasets("threshold") == ("synthetic", "har", "mnist")
