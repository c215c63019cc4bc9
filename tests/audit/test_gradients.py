"""Inner products without gradients, shares of records in a step, and rows back from a step."""

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.audit.canaries import coefficients
from secure_sapefl.audit.gradient_geometry import along, gradients_at, products
from secure_sapefl.audit.inversion import Attack, invert, labels_moved, nearest
from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import BatchedTrainer

MLP = StackedModel((Linear(5, 12), Relu(), Linear(12, 3)), classes=3, widest=12)
CNN = StackedModel((Convolution(1, 4), Relu(), Pool(), Flatten(), Linear(64, 3)), classes=3, widest=4 * 64)
SHAPES = {MLP: (5,), CNN: (1, 8, 8)}


def drawn(model: Model, rows: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(3)
    x, y = torch.randn((rows, *SHAPES[model]), generator=random), torch.randint(3, (rows,), generator=random)
    return model.initial(np.random.default_rng(1)), x, y


def one_by_one(model: Model, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Every record's gradient, formed by autograd, [n, P]."""
    count = len(y)
    batch = Batch(x[:, None], y[:, None], torch.zeros((count, 1)), torch.ones((count, 1)))
    return BatchedTrainer(model).gradient(theta.repeat(count, 1), batch, LocalLoss())


@pytest.mark.parametrize("model", [MLP, CNN], ids=["mlp", "cnn"])
def test_inner_products_are_those_of_the_gradients(model: Model) -> None:
    theta, x, y = drawn(model)
    formed, direction = one_by_one(model, theta, x, y), torch.randn(model.parameters)
    ghosts = gradients_at(model, theta, x, y)
    torch.testing.assert_close(products(ghosts, ghosts), formed @ formed.T, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(along(ghosts, model, direction), formed @ direction, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", [MLP, CNN], ids=["mlp", "cnn"])
def test_the_records_of_a_step_are_told_from_the_others(model: Model) -> None:
    theta, x, y = drawn(model, rows=10)
    x = 4 * x
    used = torch.arange(10) % 2 == 0
    step = one_by_one(model, theta, x[used], y[used]).sum(0)
    found = coefficients(model, theta, theta - 1e-4 * step, x, y)
    assert found[used.numpy()].mean() > 2 * np.abs(found[~used.numpy()]).mean()


def test_one_row_of_a_table_comes_back_exactly() -> None:
    theta, x, y = drawn(MLP, rows=2)
    update = -0.1 * one_by_one(MLP, theta, x, y)
    for victim, row in enumerate(x):
        best = nearest(invert(MLP, theta, update, x, 1, Attack(), seed=0)[victim], row[None], torch.zeros(5))[0]
        assert best.error < 1e-3
    assert labels_moved(MLP, update, 1)[:, 0].tolist() == y.tolist()


def test_labels_are_shared_out_as_the_bias_rose() -> None:
    update = torch.zeros((1, MLP.parameters))
    update[0, -3:] = torch.tensor([0.75, -1.0, 0.25])
    assert labels_moved(MLP, update, 4)[0].tolist() == [0, 0, 0, 2]


def test_an_image_is_found_better_than_by_its_average() -> None:
    theta, x, y = drawn(CNN, rows=1)
    update = -0.1 * one_by_one(CNN, theta, x, y)
    attack = Attack(steps=60, starts=1)
    found = invert(CNN, theta, update, x, 1, attack, seed=0)[0]
    assert nearest(found, x, torch.zeros(SHAPES[CNN]))[0].error < 0.9
    again = invert(CNN, theta, update, x, 1, attack, seed=0)[0]
    assert torch.equal(found, again)


def test_the_error_is_relative_to_the_average_row() -> None:
    rows = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    (near,) = nearest(torch.tensor([[3.0, 3.0]]), rows, torch.zeros(2))
    assert near.error == pytest.approx(1 / 5)
    assert near.true.tolist() == [3.0, 4.0]
