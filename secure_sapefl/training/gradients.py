"""The gradients of a stack's weights. That of a linear layer is a product, and stays two factors until a step takes it.

A network of plain layers ends in linear ones. They are differentiated by hand: the gradient of W in x W^T + b is
delta^T x, and `descent.py` multiplies it into W, so that nothing of W's size is written down on the way. What stands
before them, convolutions say, is autograd's, and so are all other networks.
"""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.stacked import Layer, Linear, Relu, StackedModel, pooled_first, run
from secure_sapefl.models.taps import Gradient, Product
from secure_sapefl.training.objective import Batch, HasSlope, Objective, TaskLoss, task_slope


def gradients(model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective) -> list[Gradient]:
    """Of the part of the objective that reads records; ``weights`` as ``model.views`` gives them, one gradient each."""
    if isinstance(model, StackedModel):
        return _through_layers(model, weights, batch, objective)
    if isinstance(model, ModuleModel) and model.unstackable is None:
        return _through_module(model, weights, batch, objective)
    return list(by_autograd(model, weights, batch, objective))


def by_autograd(model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective) -> tuple[Tensor, ...]:
    """The same, all of it written down."""
    for weight in weights:
        weight.requires_grad_()
    loss = objective.loss(model.apply(weights, batch.x, batch.keys), batch)
    return torch.autograd.grad(loss.sum(), weights, materialize_grads=True)


def _through_module(
    model: ModuleModel, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> list[Gradient]:
    """Linear layers inside it by hand, the rest by autograd."""
    answers, taps = model.tapped([weight.requires_grad_() for weight in weights], batch.x, batch.keys)
    return taps.gradients(answers, _slope(objective, answers.detach(), batch))


@cache
def _parted(layers: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """What stands before the first linear layer, and all from it on."""
    layers = pooled_first(layers)
    first = next((place for place, layer in enumerate(layers) if isinstance(layer, Linear)), len(layers))
    return layers[:first], layers[first:]


def _through_layers(
    model: StackedModel, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> list[Gradient]:
    before, after = _parted(model.layers)
    count = sum(len(layer.shapes()) for layer in before)
    own, rest = weights[:count], weights[count:]
    if count == 0:
        features = run(before, (), batch.x)
    else:  # by torch.func, which torch.compile can follow
        features, pulled_back, *_ = torch.func.vjp(lambda *some: run(before, some, batch.x), *own)
    with torch.no_grad():
        kept, outputs = _forward(after, rest, features)
        slope = _slope(objective, outputs, batch)
        found, slope = _backward(after, rest, kept, slope, onwards=count > 0)
    return found if count == 0 else [*pulled_back(slope.view_as(features)), *found]


def _forward(layers: Sequence[Layer], weights: Sequence[Tensor], x: Tensor) -> tuple[list[Tensor], Tensor]:
    """What each layer needs to remember, a linear one its inputs and a rectifier its outputs; and the outputs."""
    kept = []
    for layer in layers:
        if isinstance(layer, Linear):
            kept.append(x := x.flatten(2))
            (weight, bias), weights = weights[:2], weights[2:]
            x = torch.baddbmm(bias.unsqueeze(1), x, weight.mT)
        else:
            x = x.relu_() if isinstance(layer, Relu) else layer.apply(x, ())
            kept.append(x)
    return kept, x


def _backward(
    layers: Sequence[Layer], weights: Sequence[Tensor], kept: Sequence[Tensor], slope: Tensor, *, onwards: bool
) -> tuple[list[Gradient], Tensor]:
    """The gradients of all weights, and of what the first layer is given where it goes ``onwards`` from there."""
    found: list[Gradient] = []
    for place in range(len(layers) - 1, -1, -1):
        if isinstance(layers[place], Linear):
            found = [Product(slope.mT, kept[place]), slope.sum(1), *found]
            if place or onwards:
                slope = torch.bmm(slope, weights[-len(found)])
        elif isinstance(layers[place], Relu):
            slope = torch.ops.aten.threshold_backward(slope, kept[place], 0)
    return found, slope


def _slope(objective: Objective, outputs: Tensor, batch: Batch) -> Tensor:
    """d loss / d outputs, [G, B, K]; in closed form where the objective has one."""
    slope = None
    if isinstance(objective, HasSlope):
        slope = objective.slope(outputs, batch)
    elif getattr(type(objective), "loss", None) is TaskLoss.loss:
        slope = task_slope(outputs, batch)
    if slope is not None:
        return slope
    with torch.enable_grad():
        loss = objective.loss(outputs.requires_grad_(), batch).sum()
    return torch.autograd.grad(loss, outputs, materialize_grads=True)[0]
