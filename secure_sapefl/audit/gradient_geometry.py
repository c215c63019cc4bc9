"""Angles between records' gradients, without forming one.

A linear layer's gradient of one record is an outer product d a^T, so that <d1 a1^T, d2 a2^T> = <d1, d2> <a1, a2>. All
inner products of n records then cost n^2 times the width of a layer, not n^2 times its weights.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.per_record import record_gradients
from secure_sapefl.privacy.record_gradients import (
    ConvolutionGradients,
    DenseGradients,
    LinearGradients,
    RecordGradients,
)
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION
from secure_sapefl.training.objective import Batch, LocalLoss


def gradients_at(
    model: Model, theta: Tensor, x: Tensor, y: Tensor, task: Task = CLASSIFICATION
) -> list[RecordGradients]:
    """Of the task's plain loss of every record at one model [P], layer by layer; one site, so their first axis is 1.
    Of a model with dropout, the one where nothing is dropped (`PublicTerms.undrawn`)."""
    count = len(y)
    batch = Batch(x[None], y[None], torch.arange(count)[None], torch.full((1, count), 1 / count), task=task)
    return record_gradients(model, model.views(theta[None].detach()), batch, LocalLoss())


def products(left: Sequence[RecordGradients], right: Sequence[RecordGradients]) -> Tensor:
    """<g_i, h_j> over the whole model, [n, n]."""
    return torch.stack([_layer_products(*pair) for pair in zip(left, right, strict=True)]).sum(0)


def along(gradients: Sequence[RecordGradients], model: Model, direction: Tensor) -> Tensor:
    """<g_i, direction> for a direction in weight space [P], [n]."""
    parts = iter([view[0] for view in model.views(direction[None])])
    return torch.stack([_layer_along(one, parts) for one in gradients]).sum(0)


def _layer_products(left: RecordGradients, right: RecordGradients) -> Tensor:
    match left, right:
        case LinearGradients(), LinearGradients():
            return (left.slopes[0] @ right.slopes[0].T) * (left.inputs[0] @ right.inputs[0].T + 1)
        case ConvolutionGradients(), ConvolutionGradients():
            return left.weight[0].flatten(1) @ right.weight[0].flatten(1).T + left.bias[0] @ right.bias[0].T
        case DenseGradients(), DenseGradients():
            return left.rows()[0] @ right.rows()[0].T
    raise TypeError(f"{left} and {right} are not gradients of one layer.")


def _layer_along(gradients: RecordGradients, parts: Iterator[Tensor]) -> Tensor:
    """Takes of the direction's ``parts`` as many as the layer has weights."""
    weight = next(parts)
    match gradients:
        case LinearGradients():
            return ((gradients.slopes[0] @ weight) * gradients.inputs[0]).sum(1) + gradients.slopes[0] @ next(parts)
        case ConvolutionGradients():
            return gradients.weight[0].flatten(1) @ weight.flatten() + gradients.bias[0] @ next(parts)
        case DenseGradients():
            return gradients.rows()[0] @ weight.flatten()
    raise TypeError(f"{gradients} is not of a layer we know.")
