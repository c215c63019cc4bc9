"""What every model must do, whatever its network is."""

import numpy as np
import pytest
import torch
from torch.nn.utils import vector_to_parameters

from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel, build_model

SHAPES = [(5,), (1, 8, 8), (3, 9, 6)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stack_answers_like_its_modules_one_by_one(shape: tuple[int, ...]) -> None:
    model = build_model(shape, 3, "small")
    theta = torch.stack([model.initial(np.random.default_rng(g)) for g in range(3)])
    x = torch.randn((3, 4, *shape), generator=torch.Generator().manual_seed(0))
    stacked = model.apply(model.views(theta), x)
    assert stacked.shape == (3, 4, 3)
    for g in range(3):
        module = model.module()
        vector_to_parameters(theta[g], module.parameters())
        torch.testing.assert_close(stacked[g], module(x[g]), atol=1e-5, rtol=1e-5)


def test_views_write_through() -> None:
    model = StackedModel((Linear(2, 2),), 2, 2)
    theta = torch.zeros(2, model.parameters)
    weight, bias = model.views(theta)
    weight[1, 0, 1], bias[0, 1] = 7, 9
    assert theta.tolist() == [[0, 0, 0, 0, 0, 9], [0, 7, 0, 0, 0, 0]]


MLP = StackedModel((Linear(4, 5), Relu(), Linear(5, 3)), classes=3, widest=5)
CNN = StackedModel(
    (Convolution(1, 2), Relu(), Pool(), Flatten(), Linear(8, 4), Relu(), Linear(4, 3)), classes=3, widest=32
)


@pytest.mark.parametrize(("model", "shape"), [(MLP, (4,)), (CNN, (1, 4, 4))], ids=["mlp", "cnn"])
def test_head_after_body_is_the_model(model, shape):
    theta = torch.stack([model.initial(np.random.default_rng(g)) for g in range(2)])
    x = torch.randn((2, 11, *shape), generator=torch.Generator().manual_seed(0))
    features = model.body.outputs(theta[:, : model.head_start], x)
    torch.testing.assert_close(model.head.outputs(theta[:, model.head_start :], features), model.outputs(theta, x))
    assert model.body.parameters + model.head.parameters == model.parameters
