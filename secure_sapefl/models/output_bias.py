"""Where a model's answers can be shifted: the weights that are added to its outputs, found by trying."""

from itertools import accumulate, pairwise

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.probing import made_up


def output_bias(model: Model, theta: Tensor, shape: tuple[int, ...]) -> slice | None:
    """The place in ``theta`` [P] of K weights by whose change the answers to any row of ``shape`` change just as much;
    the last such place, and None where the model has none."""
    theta, x = theta[None], made_up(shape, 1, 2).to(theta.device)
    shift = torch.linspace(0.5, 1.5, model.classes, device=theta.device)
    before = model.outputs(theta, x)
    bounds = pairwise(accumulate((view.numel() for view in model.views(theta)), initial=0))
    for place in [slice(a, b) for a, b in bounds if b - a == model.classes][::-1]:
        moved = theta.clone()
        moved[:, place] += shift
        if torch.allclose(model.outputs(moved, x) - before, shift.expand_as(before), rtol=1e-3, atol=1e-3):
            return place
    return None
