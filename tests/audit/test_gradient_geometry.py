"""Inner products of records' gradients without the gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from secure_sapefl.audit.gradient_geometry import along, gradients_at, products
from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import MULTILABEL, REGRESSION
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import BatchedTrainer


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_inner_products_are_those_of_the_gradients(kind: str, records: Callable[..., Any]) -> None:
    made = records(kind)
    formed, direction = made.gradients(), torch.randn(made.model.parameters)
    ghosts = gradients_at(made.model, made.theta, made.x, made.y)
    torch.testing.assert_close(products(ghosts, ghosts), formed @ formed.T, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(along(ghosts, made.model, direction), formed @ direction, rtol=1e-4, atol=1e-5)


class Warmth(nn.Module):
    """A weight that is a number."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


def test_of_a_model_with_dropout_they_are_those_where_nothing_is_dropped() -> None:
    """Nobody who attacks knows the masks."""
    module = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.GELU(), Warmth(), nn.Linear(5, 3))
    dropping = ModuleModel.from_build(lambda _: module, Description((4,), 3), np.random.default_rng(0))
    assert (dropping.draws, dropping.undrawn.draws) == (True, False)
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    gradients = gradients_at(dropping.undrawn, dropping.initial(np.random.default_rng()), x, y)
    module.eval()
    losses = nn.functional.cross_entropy(module(x), y, reduction="none")
    rows = [torch.autograd.grad(loss, module.parameters(), retain_graph=True) for loss in losses]
    formed = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    torch.testing.assert_close(products(gradients, gradients), formed @ formed.T, rtol=1e-4, atol=1e-5)
    direction = torch.randn(dropping.parameters)
    found = along(gradients, dropping, direction)
    torch.testing.assert_close(found, formed @ direction, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("task", [REGRESSION, MULTILABEL], ids=lambda task: task.name)
def test_they_are_of_the_tasks_own_loss(task: Task, records: Callable[..., Any]) -> None:
    made, y = records("mlp"), torch.rand(6, 3).round()
    batch = Batch(made.x[:, None], y[:, None], torch.zeros((6, 1)), torch.ones((6, 1)), task=task)
    formed = BatchedTrainer(made.model).gradient(made.theta.repeat(6, 1), batch, LocalLoss())
    ghosts = gradients_at(made.model, made.theta, made.x, y, task)
    torch.testing.assert_close(products(ghosts, ghosts), formed @ formed.T, rtol=1e-4, atol=1e-5)
