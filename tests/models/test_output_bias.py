"""Where the bias of outputs is found, and where it is not."""

import numpy as np
import pytest
import torch
from torch import nn

from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.output_bias import output_bias
from secure_sapefl.models.stacked import build_model


def found(model, shape):
    return output_bias(model, model.initial(np.random.default_rng(0)), shape)


@pytest.mark.parametrize(("preset", "shape"), [("linear", (3,)), ("small", (3,)), ("small", (1, 8, 8))])
def test_ours_end_with_it(preset, shape):
    model = build_model(shape, 4, preset)
    assert found(model, shape) == slice(model.parameters - 4, model.parameters)


class Scaled(nn.Module):
    """The last parameter is no bias; the one before is."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.out(x * self.scale.sum())


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda _: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3)), slice(18, 21)),
        (lambda _: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3, bias=False)), None),
        (lambda _: Scaled(), slice(9, 12)),
    ],
)
def test_modules_of_ones_own(build, expected):
    model = ModuleModel.from_build(build, Description((2,), 3), np.random.default_rng(0))
    assert found(model, (2,)) == expected
