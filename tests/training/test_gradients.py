"""Gradients that stay products until a step takes them, against autograd."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from secure_sapefl.models.stacked import Convolution, Flatten, Layer, Linear, Pool, Relu, StackedModel
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.sape.similarity import OutputForm
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, REGRESSION, cross_entropy, weighted
from secure_sapefl.training.gradients import Gradient, Product, by_autograd, gradients
from secure_sapefl.training.objective import Batch, LocalLoss, mean_loss

CONVOLUTIONS = (Convolution(2, 3), Relu(), Pool())
NETWORKS: dict[str, tuple[tuple[Layer, ...], tuple[int, ...]]] = {
    "linear": ((Linear(4, 3),), (4,)),
    "flattened": ((Flatten(), Linear(32, 3)), (2, 4, 4)),
    "MLP": ((Linear(4, 5), Relu(), Linear(5, 6), Relu(), Linear(6, 3)), (4,)),
    "two products in a row": ((Linear(4, 5), Linear(5, 3)), (4,)),
    "flattened between": ((Linear(4, 5), Flatten(), Relu(), Relu(), Linear(5, 3)), (4,)),
    "rectified first": ((Relu(), Linear(4, 3)), (4,)),
    "a body without its head": ((Linear(4, 3), Relu()), (4,)),
    "CNN": ((*CONVOLUTIONS, Flatten(), Linear(12, 5), Relu(), Linear(5, 3)), (2, 4, 4)),
    "convolutions alone": ((*CONVOLUTIONS, Convolution(3, 3), Pool(), Flatten()), (2, 4, 4)),
}
TASKS = {
    "classification": CLASSIFICATION,
    "weighted": weighted(CLASSIFICATION, (0.5, 1.0, 3.0)),
    "yes-no": MULTILABEL,
    "numbers": REGRESSION,
    "a loss of one's own": replace(CLASSIFICATION, record_loss=lambda outputs, y: 2 * cross_entropy(outputs, y)),
}


def batch_of(shape: tuple[int, ...], task: Task) -> Batch:
    random = torch.Generator().manual_seed(3)
    x = torch.randn((2, 5, *shape), generator=random, dtype=torch.float64)
    classes = torch.randint(3, (2, 5), generator=random)
    y = classes if task.labels == "class" else torch.randint(2, (2, 5, 3), generator=random).double()
    weight = torch.tensor([[0.2] * 5, [0.5, 0.5, 0, 0, 0]], dtype=torch.float64)
    return Batch(x, y, torch.zeros(2, 5, dtype=torch.int64), weight, task=task)


def weights_of(model: StackedModel) -> list[Tensor]:
    random = torch.Generator().manual_seed(4)
    return model.views(torch.randn((2, model.parameters), generator=random, dtype=torch.float64))


def dense(gradient: Gradient) -> Tensor:
    return torch.bmm(gradient.left, gradient.right) if isinstance(gradient, Product) else gradient


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("task", ["classification", "numbers"])
def test_every_network_has_the_gradients_that_autograd_finds(network: str, task: str) -> None:
    layers, shape = NETWORKS[network]
    model, batch = StackedModel(layers, 3, 12), batch_of(shape, TASKS[task])
    x = batch.x.clone()
    found = gradients(model, weights_of(model), batch, LocalLoss())
    for got, expected in zip(found, by_autograd(model, weights_of(model), batch, LocalLoss()), strict=True):
        torch.testing.assert_close(dense(got), expected)
    assert torch.equal(batch.x, x)
    linear = sum(isinstance(layer, Linear) for layer in layers)
    assert sum(isinstance(one, Product) for one in found) == linear  # nothing of a matrix' size was written down


@pytest.mark.parametrize("task", TASKS)
def test_every_loss_has_the_slope_that_autograd_finds(task: str) -> None:
    layers, shape = NETWORKS["MLP"]
    model, batch = StackedModel(layers, 3, 12), batch_of(shape, TASKS[task])
    found = gradients(model, weights_of(model), batch, LocalLoss())
    for got, expected in zip(found, by_autograd(model, weights_of(model), batch, LocalLoss()), strict=True):
        torch.testing.assert_close(dense(got), expected)


@dataclass(frozen=True, slots=True)
class Doubled(LocalLoss):
    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        return 2 * mean_loss(logits, batch)


def test_an_objective_with_a_loss_of_its_own_is_not_taken_for_the_tasks() -> None:
    layers, shape = NETWORKS["MLP"]
    model, batch = StackedModel(layers, 3, 12), batch_of(shape, CLASSIFICATION)
    once, twice = (gradients(model, weights_of(model), batch, objective) for objective in (LocalLoss(), Doubled()))
    for one, two in zip(once, twice, strict=True):
        torch.testing.assert_close(2 * dense(one), dense(two))


@pytest.mark.parametrize("form", ["flattened", "per_sample"])
@pytest.mark.parametrize("influence", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("task", ["classification", "weighted", "numbers"])
def test_anchors_have_the_slope_that_autograd_finds(task: str, influence: float, form: OutputForm) -> None:
    """One anchor answers like the sites, one the opposite, one nothing."""
    layers, shape = NETWORKS["MLP"]
    model, batch = StackedModel(layers, 3, 12), batch_of(shape, TASKS[task])
    theirs = batch.task.compared(model.apply(weights_of(model), batch.x) + 0.3)
    strength = torch.tensor([1.0, 0.0], dtype=torch.float64)
    thetas = [torch.ones((2, model.parameters), dtype=torch.float64)] * 3
    anchors = Anchors.stacked(thetas, [theirs, -theirs, 0 * theirs], [strength, strength + 1, strength + 2])
    goal = CosineAnchored(anchors, influence, form)
    found = gradients(model, weights_of(model), batch, goal)
    for got, expected in zip(found, by_autograd(model, weights_of(model), batch, goal), strict=True):
        torch.testing.assert_close(dense(got), expected)
