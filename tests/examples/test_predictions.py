"""A finished run's models once more: they must score what the run said they score."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import macro_auc


def predictions_of(folder: Path) -> Any:
    return import_module("heart_hospitals.predictions").predictions_of(folder)


@pytest.mark.parametrize(("method", "late"), [("sapefl", 1), ("fedavg", 0), ("fedavg-ft", 0), ("local", 0)])
def test_they_score_what_the_run_says(tmp_path: Path, method: str, late: int) -> None:
    config = Config(method=method, clients=4, late_clients=late, rounds=2, rows=300, local_epochs=1, workers=0)
    result = simulate(config, tmp_path / "run")
    found = predictions_of(tmp_path / "run")
    assert [one.site for one in found] == result.facts["client_names"]
    accuracies = [float((one.probabilities.argmax(1) == one.rows.y).mean()) for one in found]
    assert accuracies == pytest.approx(result.accuracy.per_client)
    assert [macro_auc(one.probabilities, one.rows.y) for one in found] == pytest.approx(result.auc.per_client)


def test_a_run_that_is_not_finished_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a finished run"):
        predictions_of(tmp_path)


def test_a_run_whose_data_was_replaced_is_named(tmp_path: Path) -> None:
    def file(seed: int) -> str:
        drawn = np.random.default_rng(seed).normal(size=(60, 3))
        np.savez(tmp_path / "mine.npz", X=drawn, y=np.arange(60) % 2, group=np.repeat(["a", "b", "c"], 20))
        return str(tmp_path / "mine.npz")

    config = Config(method="local", dataset=file(seed=0), rounds=1, local_epochs=1, workers=0)
    simulate(config, tmp_path / "run")
    file(seed=1)
    with pytest.raises(BadInput, match="the data differs"):
        predictions_of(tmp_path / "run")
