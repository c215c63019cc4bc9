"""The worked example of a task: Cox's loss and the concordance by hand, and a study with it."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.simulator import resume, simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels
from secure_sapefl.tasks.own import find

PATH = Path(__file__).parents[2] / "examples/tasks/survival.py"
TASK = find(f"{PATH}:TASK").task


def test_cox_by_hand_with_padding_and_somebody_who_left() -> None:
    """Risks 0, 1 and 2 at times 1, 2 and 3; the second left without an event, the fourth is no record."""
    outputs = torch.tensor([[0.0], [1.0], [2.0], [9.0]])
    y, weight = torch.tensor([[1.0, 1], [2, 0], [3, 1], [4, 1]]), torch.tensor([1 / 3, 1 / 3, 1 / 3, 0])
    assert TASK.batch_loss is not None
    expected = (math.log(1 + math.e + math.e**2) - 0 + 2 - 2) / 2
    assert TASK.batch_loss(outputs, y, weight).item() == pytest.approx(expected, rel=1e-6)


def test_concordance_by_hand() -> None:
    risk, y = np.array([[3.0], [1.0], [2.0]]), np.array([[1.0, 1], [2, 1], [3, 0]])
    assert TASK.metrics[0].measure(risk, y) == pytest.approx(2 / 3)
    assert math.isnan(TASK.metrics[0].measure(risk, y * [1, 0]))


def federation() -> Federation:
    rng = np.random.default_rng(1)

    def rows(count: int) -> Rows:
        X = rng.normal(size=(count, 2)).astype(np.float32)
        time, leaves = rng.exponential(np.exp(-2 * X[:, 0])), rng.exponential(2.0, size=count)
        return Rows(X, np.stack([np.minimum(time, leaves), time <= leaves], axis=1).astype(np.float32))

    clients = tuple(ClientData(name=name, train=rows(40), test=rows(40)) for name in "abc")
    return Federation(
        dataset="survival", shape=(2,), class_names=("time", "event"), clients=clients, source="made up",
        partition="natural", labels=Labels("number"),
    )  # fmt: skip


CONFIG = Config(task=f"{PATH}:TASK", model="linear", rounds=3, local_epochs=2, workers=0, participation=1.0)


def test_a_study_learns_who_is_at_risk_encrypted_and_resumed(tmp_path: Path) -> None:
    result = simulate(CONFIG, tmp_path / "run", federation=federation())
    assert result.parameters == 3, "one output for two label columns"
    assert result.main.mean > 0.65
    summary = result.summary()
    assert (summary["task"], summary["main_metric"], summary["accuracy"]) == ("survival", "concordance", None)
    assert resume(tmp_path / "run", federation=federation()).main == result.main
    assert simulate(CONFIG, federation=federation(), task=TASK).main == result.main


def test_a_loss_of_batches_has_no_private_form() -> None:
    with pytest.raises(BadInput, match="no record has a loss of its own"):
        simulate(CONFIG.model_copy(update={"dp_epsilon": 8.0, "dp_delta": 1e-3}), federation=federation())
