"""One plain step of a stack of sites, in place. It is a function of its own for `compiled.py` to compile."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.training.descent import descend
from secure_sapefl.training.gradients import gradients
from secure_sapefl.training.objective import Batch, Objective

StackStep = Callable[[Model, Tensor, Sequence[Tensor], Batch, Objective, float], None]
"""The model, theta [G, P], its weights (views of theta wherever there is a pull), a batch, the objective, the rate."""


def step_(
    model: Model, theta: Tensor, weights: Sequence[Tensor], batch: Batch, objective: Objective, lr: float
) -> None:
    found = gradients(model, weights, batch, objective)
    with torch.no_grad():
        descend(theta, weights, found, objective.weight_pull(theta), lr)
