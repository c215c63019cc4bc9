"""The gradients of single records in the forms they come in, and what clipping asks of each form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.models.stacked import Convolution


class RecordGradients(Protocol):
    """The gradients of some of the weights, a layer's say, one for each record of each site."""

    def squared_norms(self) -> Tensor:
        """Of all these weights together, [G, B]."""

    def combined(self, factors: Tensor) -> tuple[Tensor, ...]:
        """sum_i factor_i gradient_i over the records of each site, ``factors`` [G, B]: of weight and of bias, say. The
        sum is made in the precision of the factors."""

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
        return torch.bmm(scaled.transpose(1, 2), self.inputs.to(scaled.dtype)), scaled.sum(1)

    def only(self, sound: Tensor) -> "LinearGradients":
        return LinearGradients(where_sound(sound, self.inputs), where_sound(sound, self.slopes))


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
        weight, bias = self.weight.flatten(2).to(weigh.dtype), self.bias.to(weigh.dtype)
        return torch.bmm(weigh, weight).squeeze(1), torch.bmm(weigh, bias).squeeze(1)

    def only(self, sound: Tensor) -> "ConvolutionGradients":
        return ConvolutionGradients(where_sound(sound, self.weight), where_sound(sound, self.bias))


@dataclass(frozen=True, slots=True)
class DenseGradients:
    """Of one tensor of weights of any module, as they are."""

    values: Tensor  # [G, B, *shape]

    def squared_norms(self) -> Tensor:
        return self.rows().square().sum(2)

    def combined(self, factors: Tensor) -> tuple[Tensor, ...]:
        values = self.rows().to(factors.dtype)
        return (torch.bmm(factors.unsqueeze(1), values).view(len(factors), *self.values.shape[2:]),)

    def rows(self) -> Tensor:
        """[G, B, numbers]; a weight may be a single one."""
        return self.values.reshape(*self.values.shape[:2], -1)

    def only(self, sound: Tensor) -> "DenseGradients":
        return DenseGradients(where_sound(sound, self.values))


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
        return LinearDifferences(*(where_sound(sound, part) for part in parts))


def differences(ahead: Sequence[RecordGradients], behind: Sequence[RecordGradients]) -> list[RecordGradients]:
    """Record by record and layer by layer, of the same records at two points."""
    return [_difference(*pair) for pair in zip(ahead, behind, strict=True)]


def _difference(ahead: RecordGradients, behind: RecordGradients) -> RecordGradients:
    match ahead, behind:
        case LinearGradients(), LinearGradients():
            return LinearDifferences.between(ahead, behind)
        case DenseGradients(), DenseGradients():
            return DenseGradients(ahead.values - behind.values)
        case ConvolutionGradients(), ConvolutionGradients():
            return ConvolutionGradients(ahead.weight - behind.weight, ahead.bias - behind.bias)
    raise TypeError(f"{ahead} and {behind} are not gradients of one layer.")


def where_sound(sound: Tensor, values: Tensor) -> Tensor:
    """``values`` [G, B, ...] with 0 for every record that is not sound, bool [G, B]."""
    return values.where(sound.view(*sound.shape, *(1,) * (values.dim() - sound.dim())), 0)


def squared_norms(gradients: Sequence[RecordGradients]) -> Tensor:
    """|g_i|^2 over all layers, [G, B]."""
    return torch.stack([layer.squared_norms() for layer in gradients]).sum(0)
