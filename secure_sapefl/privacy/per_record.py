"""Gradients clipped record by record, for a stack of sites in one pass.

One backward pass gives, for every layer, what went in (``a``) and the gradient of the loss by what came out (``d``) of
each record. The gradient of one record's loss by the weights follows from the two alone. For a linear layer it is the
outer product d a^T, whose norm is |d| |a|: it need not be formed (ghost clipping; Goodfellow 2015, arXiv:1510.01799, Li
et al. 2022, arXiv:2110.05679), and the clipped sum is one product with d scaled by each record's factor. So a clipped
gradient costs about as much as a plain one. A convolution's weights are few; there each record's gradient is formed.

A module of the user's own goes site by site: its records' gradients are formed by `modules/records.py`, or only their
norms by `modules/ghost.py`.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.stacked import Convolution, Layer, Linear, StackedModel
from secure_sapefl.privacy.record_gradients import (
    ConvolutionGradients,
    LinearGradients,
    RecordGradients,
    squared_norms,
    where_sound,
)
from secure_sapefl.training.objective import Batch, Objective


def clipped_sum(
    model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective, clip: float
) -> list[Tensor]:
    """sum_i weight_i g_i min(1, clip / |g_i|), g_i the gradient of record i's loss: one tensor for each of ``weights``.

    Padding has weight 0 and so adds nothing. Where weights are double, so is the sum.
    """

    def of_sites(sites: slice) -> Sequence[RecordGradients]:
        own = [weight[sites] for weight in weights]
        return _clippable(model, own, batch.narrow(sites), objective.narrow(sites))

    parts = clipped_by_site(model, of_sites, batch.weight, clip)
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def clipped_by_site(
    model: Model, of_sites: Callable[[slice], Sequence[RecordGradients]], weight: Tensor, clip: float
) -> list[Tensor]:
    """`clipped`, for as many sites at a time as their gradients are made for."""
    parts = [clipped(of_sites(sites), weight[sites], clip) for sites in _portions(model, len(weight))]
    return parts[0] if len(parts) == 1 else [torch.cat(part) for part in zip(*parts, strict=True)]


def _portions(model: Model, sites: int) -> Iterator[slice]:
    """All of a stack at once where the model has a form for that; one by one otherwise."""
    if isinstance(model, StackedModel):
        yield slice(0, sites)
    else:
        yield from (slice(site, site + 1) for site in range(sites))


def clipped(gradients: Sequence[RecordGradients], weight: Tensor, clip: float) -> list[Tensor]:
    """sum_i weight_i g_i min(1, clip / |g_i|), ``weight`` [G, B]: of weight and bias of every layer in turn.

    A record whose gradient is no number, or too long to have a length, counts as nothing: 0 times infinity is none.
    """
    norms = squared_norms(gradients)
    sound = norms.isfinite()
    if sound.device.type != "cpu" or not sound.all():  # a card is not asked: the host would wait for it at every step
        gradients, norms = [layer.only(sound) for layer in gradients], where_sound(sound, norms)
    factors = weight * (clip / norms.sqrt().clamp(min=clip))
    return [part for layer in gradients for part in layer.combined(factors)]


def record_gradients(
    model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> list[RecordGradients]:
    """The gradients of every record's own loss, layer by layer; of a module, for a group of one."""
    if isinstance(model, ModuleModel):
        from secure_sapefl.privacy.modules.records import formed_gradients  # Opacus takes seconds to import

        return list(formed_gradients(model, weights, batch, objective))
    layers, inputs, outputs, answers = _traced(model, weights, batch.x)
    losses = objective.record_loss(answers, batch)
    slopes = torch.autograd.grad(losses.sum(), outputs)
    return [_of_layer(*parts) for parts in zip(layers, inputs, slopes, strict=True)]


def _clippable(
    model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> Sequence[RecordGradients]:
    """The same, formed no more than clipping needs."""
    if not isinstance(model, ModuleModel):
        return record_gradients(model, weights, batch, objective)
    from secure_sapefl.privacy.modules.records import clippable_gradients

    return clippable_gradients(model, weights, batch, objective)


def require_record_gradients(model: Model) -> None:
    """Before anything is paid for: `BadInput` where a model has no gradients of single records."""
    if isinstance(model, ModuleModel):
        from secure_sapefl.privacy.modules.records import per_record

        per_record(model)


def _of_layer(layer: Layer, inputs: Tensor, slopes: Tensor) -> RecordGradients:
    match layer:
        case Linear():
            return LinearGradients(inputs.flatten(2), slopes)
        case Convolution():
            return ConvolutionGradients.from_layer(layer, inputs, slopes)
    raise TypeError(f"{layer} has weights and no per-record gradient.")


def _traced(
    model: Model, weights: Sequence[Tensor], x: Tensor
) -> tuple[list[Layer], list[Tensor], list[Tensor], Tensor]:
    """Forward, keeping the layers that have weights, what goes into them and what comes out; and the model's answers.

    The weights themselves are constants here: autograd follows the records from the first such layer's output on.
    """
    if not isinstance(model, StackedModel):
        raise TypeError(f"{type(model).__name__} has no per-record gradients in closed form.")
    layers, inputs, outputs, taken = [], [], [], 0
    for layer in model.layers:
        count = len(layer.shapes())
        y = layer.apply(x, weights[taken : taken + count])
        if count:
            layers.append(layer)
            inputs.append(x.detach())
            outputs.append(y if y.requires_grad else y.requires_grad_())
        x, taken = y, taken + count
    return layers, inputs, outputs, x
