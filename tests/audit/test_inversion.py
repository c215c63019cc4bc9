"""Rows back from a step: exactly from a table's, nearly from an image's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from secure_sapefl.audit.inversion import Attack, Known, invert, labels_moved, nearest
from secure_sapefl.models.base import Description, Model
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, REGRESSION
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import BatchedTrainer

Records = Callable[..., Any]  # of conftest.py


def known(made: Any) -> Known:
    return Known(made.model, CLASSIFICATION, made.x, made.y)


def step_of(model: Model, task: Task, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """One row's, [1, P]."""
    batch = Batch(x[None], y[None], torch.zeros((1, 1)), torch.ones((1, 1)), task=task)
    return -0.1 * BatchedTrainer(model).gradient(theta[None], batch, LocalLoss())


def test_one_row_of_a_table_comes_back_exactly(records: Records) -> None:
    made = records("mlp", rows=2)
    update = -0.1 * made.gradients()
    for victim, row in enumerate(made.x):
        found = invert(known(made), made.theta, update, 1, Attack(), seed=0)[victim]
        assert nearest(found, row[None], torch.zeros(5))[0].error < 1e-3
    assert labels_moved(made.model, update, 1)[:, 0].tolist() == made.y.tolist()


def test_labels_are_shared_out_as_the_bias_rose(records: Records) -> None:
    model = records("mlp").model
    update = torch.zeros((1, model.parameters))
    update[0, -3:] = torch.tensor([0.75, -1.0, 0.25])
    assert labels_moved(model, update, 4)[0].tolist() == [0, 0, 0, 2]


def test_an_image_is_found_better_than_by_its_average(records: Records) -> None:
    made = records("cnn", rows=1)
    update, attack = -0.1 * made.gradients(), Attack(steps=60, starts=1)
    found, again = (invert(known(made), made.theta, update, 1, attack, seed=0)[0] for _ in range(2))
    assert nearest(found, made.x, torch.zeros(made.x.shape[1:]))[0].error < 0.9
    assert torch.equal(found, again)


def test_the_error_is_relative_to_the_average_row() -> None:
    rows = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    (near,) = nearest(torch.tensor([[3.0, 3.0]]), rows, torch.zeros(2))
    assert near.error == pytest.approx(1 / 5)
    assert near.true.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("task", "label"), [(REGRESSION, [1.5, -0.5, 1.0]), (MULTILABEL, [1.0, 0.0, 1.0])])
def test_labels_that_are_no_classes_are_looked_for_with_the_image(
    records: Records, task: Task, label: list[float]
) -> None:
    made, y = records("cnn", rows=1), torch.tensor([label])
    seen = Known(made.model, task, made.x, torch.stack([y[0], -y[0]]))
    update = step_of(made.model, task, made.theta, made.x, y)
    (found,) = invert(seen, made.theta, update, 1, Attack(steps=60, starts=1), seed=0)
    assert nearest(found, made.x, torch.zeros(made.x.shape[1:]))[0].error < 0.9


def test_one_number_of_a_table_comes_back_with_its_row_exactly(records: Records) -> None:
    made, y = records("mlp", rows=1), torch.tensor([[0.5, 1.0, -2.0]])
    update = step_of(made.model, REGRESSION, made.theta, made.x, y)
    found = invert(Known(made.model, REGRESSION, made.x, y), made.theta, update, 1, Attack(), seed=0)[0]
    assert nearest(found, made.x, torch.zeros(5))[0].error < 1e-3


@pytest.mark.parametrize("first", [nn.LayerNorm(4), nn.Linear(4, 4, bias=False)], ids=["a norm", "no bias"])
def test_rows_are_searched_for_where_no_linear_layer_begins(first: nn.Module) -> None:
    """Division would take another layer's numbers for the first one's bias."""
    about, x = Description((4,), 2), torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    model = ModuleModel.from_build(
        lambda _: nn.Sequential(first, nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2, bias=False)),
        about,
        np.random.default_rng(0),
    )
    theta, y = model.initial(np.random.default_rng()), torch.tensor([1])
    seen = Known(model, CLASSIFICATION, torch.cat([x, -x]), torch.tensor([0, 1]))
    update = step_of(model, CLASSIFICATION, theta, x, y)
    (found,) = invert(seen, theta, update, 1, Attack(steps=5, starts=1), seed=0)
    assert found.shape == (1, 4)
    assert labels_moved(model, update, 3).tolist() == [[0, 1, 0]]  # no bias tells which were there
