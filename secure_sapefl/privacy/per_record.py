"""Gradients clipped record by record, for a stack of sites in one pass.

One backward pass gives, for every layer, what went in (``a``) and the gradient of the loss by what came out (``d``) of
each record. The gradient of one record's loss by the weights follows from the two alone. For a linear layer it is the
outer product d a^T, whose norm is |d| |a|: it need not be formed (ghost clipping; Goodfellow 2015, arXiv:1510.01799, Li
et al. 2022, arXiv:2110.05679), and the clipped sum is one product with d scaled by each record's factor. So a clipped
gradient costs about as much as a plain one. A convolution's weights are few; there each record's gradient is formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Layer, Linear, StackedModel
from secure_sapefl.training.objective import Batch, Objective


class RecordGradients(Protocol):
    """One layer's gradients, one for each record of each site."""

    def squared_norms(self) -> Tensor:
        """Weight and bias together, [G, B]."""

    def combined(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """sum_i factor_i gradient_i over the records of each site, ``factors`` [G, B]: of weight and of bias."""

    def only(self, sound: Tensor) -> "RecordGradients":
        """The same with 0 for every record that is not ``sound``, bool [G, B]."""


@dataclass(frozen=True, slots=True)
class LinearGradients:
    inputs: Tensor  # [G, B, in]
    slopes: Tensor  # [G, B, out]

    def squared_norms(self) -> Tensor:
        return self.slopes.square().sum(2) * (self.inputs.square().sum(2) + 1)

    def combined(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        scaled = self.slopes * factors.unsqueeze(2)
        return torch.bmm(scaled.transpose(1, 2), self.inputs), scaled.sum(1)

    def only(self, sound: Tensor) -> "LinearGradients":
        return LinearGradients(_only(sound, self.inputs), _only(sound, self.slopes))


@dataclass(frozen=True, slots=True)
class ConvolutionGradients:
    weight: Tensor  # [G, B, out, in * 9]
    bias: Tensor  # [G, B, out]

    @classmethod
    def from_layer(cls, layer: Convolution, inputs: Tensor, slopes: Tensor) -> "ConvolutionGradients":
        """Of a 3x3 convolution with padding 1: each output pixel is a product with the patch around it."""
        patches = F.unfold(inputs.flatten(0, 1), kernel_size=3, padding=1)  # [G * B, in * 9, pixels]
        weight = torch.bmm(slopes.flatten(0, 1).flatten(2), patches.transpose(1, 2))
        return cls(weight.view(*slopes.shape[:2], layer.outputs, -1), slopes.flatten(3).sum(3))

    def squared_norms(self) -> Tensor:
        return self.weight.square().sum((2, 3)) + self.bias.square().sum(2)

    def combined(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        weigh = factors.unsqueeze(1)
        return torch.bmm(weigh, self.weight.flatten(2)).squeeze(1), torch.bmm(weigh, self.bias).squeeze(1)

    def only(self, sound: Tensor) -> "ConvolutionGradients":
        return ConvolutionGradients(_only(sound, self.weight), _only(sound, self.bias))


@dataclass(frozen=True, slots=True)
class LinearDifferences:
    """Of two gradients of each record: d1 a1^T - d2 a2^T = (d1 - d2) a^T + d (a1 - a2)^T, a and d being the means. What
    is nearly equal is subtracted before it is multiplied, not after."""

    inputs: Tensor  # a
    slopes: Tensor  # d
    inputs_change: Tensor  # a1 - a2
    slopes_change: Tensor  # d1 - d2

    @classmethod
    def between(cls, ahead: LinearGradients, behind: LinearGradients) -> "LinearDifferences":
        return cls(
            inputs=(ahead.inputs + behind.inputs) / 2,
            slopes=(ahead.slopes + behind.slopes) / 2,
            inputs_change=ahead.inputs - behind.inputs,
            slopes_change=ahead.slopes - behind.slopes,
        )

    def squared_norms(self) -> Tensor:
        both = (self.slopes * self.slopes_change).sum(2) * (self.inputs * self.inputs_change).sum(2)
        by_slopes = self.slopes_change.square().sum(2) * (self.inputs.square().sum(2) + 1)
        by_inputs = self.slopes.square().sum(2) * self.inputs_change.square().sum(2)
        return (by_slopes + by_inputs + 2 * both).clamp(min=0)

    def combined(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        weight, bias = LinearGradients(self.inputs, self.slopes_change).combined(factors)
        return weight + LinearGradients(self.inputs_change, self.slopes).combined(factors)[0], bias

    def only(self, sound: Tensor) -> "LinearDifferences":
        parts = (self.inputs, self.slopes, self.inputs_change, self.slopes_change)
        return LinearDifferences(*(_only(sound, part) for part in parts))


def differences(ahead: Sequence[RecordGradients], behind: Sequence[RecordGradients]) -> list[RecordGradients]:
    """Record by record and layer by layer, of the same records at two points."""
    return [_difference(*pair) for pair in zip(ahead, behind, strict=True)]


def _difference(ahead: RecordGradients, behind: RecordGradients) -> RecordGradients:
    match ahead, behind:
        case LinearGradients(), LinearGradients():
            return LinearDifferences.between(ahead, behind)
        case ConvolutionGradients(), ConvolutionGradients():
            return ConvolutionGradients(ahead.weight - behind.weight, ahead.bias - behind.bias)
    raise TypeError(f"{ahead} and {behind} are not gradients of one layer.")


def clipped_sum(
    model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective, clip: float
) -> list[Tensor]:
    """sum_i weight_i g_i min(1, clip / |g_i|), g_i the gradient of record i's loss: one tensor for each of ``weights``.

    Padding has weight 0 and so adds nothing.
    """
    parts = clipped(record_gradients(model, weights, batch, objective), batch.weight, clip)
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def clipped(gradients: Sequence[RecordGradients], weight: Tensor, clip: float) -> list[Tensor]:
    """sum_i weight_i g_i min(1, clip / |g_i|), ``weight`` [G, B]: of weight and bias of every layer in turn.

    A record whose gradient is no number, or too long to have a length, counts as nothing: 0 times infinity is none.
    """
    norms = squared_norms(gradients)
    sound = norms.isfinite()
    if not sound.all():
        gradients, norms = [layer.only(sound) for layer in gradients], _only(sound, norms)
    factors = weight * (clip / norms.sqrt().clamp(min=clip))
    return [part for layer in gradients for part in layer.combined(factors)]


def _only(sound: Tensor, values: Tensor) -> Tensor:
    return values.where(sound.view(*sound.shape, *(1,) * (values.dim() - sound.dim())), 0)


def squared_norms(gradients: Sequence[RecordGradients]) -> Tensor:
    """|g_i|^2 over all layers, [G, B]."""
    return torch.stack([layer.squared_norms() for layer in gradients]).sum(0)


def record_gradients(
    model: Model, weights: Sequence[Tensor], batch: Batch, objective: Objective
) -> list[RecordGradients]:
    """The gradients of every record's own loss, layer by layer."""
    layers, inputs, outputs, answers = _traced(model, weights, batch.x)
    losses = objective.record_loss(answers, batch)
    slopes = torch.autograd.grad(losses.sum(), outputs)
    return [_of_layer(*parts) for parts in zip(layers, inputs, slopes, strict=True)]


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
