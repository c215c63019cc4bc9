"""The setting of an experiment, in sentences."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.setting import Setting, Task


def test_a_setting_by_hand(tiny: Callable[..., Setting]) -> None:
    first, second, skew, protection = described(tiny(seeds=3, seed=4, lr=0.05))
    assert first == "2 rounds, 100% of the sites in each, seeds 4 to 6"
    assert second == "1 local epochs, batches of 16, learning rate 0.05, the small model"
    assert skew.startswith("κ = 0.3")
    assert protection.startswith("plaintext: for research speed")


@pytest.mark.parametrize("varied", ["kappa", "influence"])
def test_kappa_is_not_stated_where_the_experiment_varies_it(varied: str, tiny: Callable[..., Setting]) -> None:
    assert any("κ" in line for line in described(tiny(), varied)) == (varied != "kappa")


def test_a_budget_is_said_where_there_is_one(tiny: Callable[..., Setting]) -> None:
    assert "every run is private: ε = 4, δ = 1e-05" in described(tiny(dp_epsilon=4.0, dp_delta=1e-5))


def test_which_rows_in_how_many_hands(result: Callable[..., CellResult]) -> None:
    tasks = Task(dataset="har"), Task(dataset="mnist", changes={"partition": "clustered"})
    names = ("client-0-cluster-0", "client-1-cluster-1", "client-2-cluster-1")
    results = {
        ("har", "fedavg"): (result(0.5, 0.6, source="har.npz, 10 rows"),),
        ("mnist (clustered)", "fedavg"): (result(0.1, 0.2, 0.3, partition="clustered", client_names=names),),
    }
    assert sources(tasks, results) == (
        "har: har.npz, 10 rows; 2 sites, iid partition",
        "mnist (clustered): made up; 3 sites, clustered partition, 2 clusters",
    )
