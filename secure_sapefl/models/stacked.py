"""Networks of a few plain layers, the paper's among them, which a whole group of sites runs at once.

A network of these layers runs two ways on the same weights:

* `StackedModel.module` is the ordinary `torch.nn.Sequential`, one site at a time;
* `StackedModel.apply` runs a stack of sites at once, through batched matrix products and grouped convolutions. The
  gradient of each single record follows in closed form as well (`privacy/per_record.py`).

No batch norm anywhere: its running statistics would be a second, unprotected message between sites.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.errors import BadInput

Preset = Literal["linear", "small", "paper"]
_MLP_HIDDEN: dict[str, tuple[int, ...]] = {"small": (128, 64), "paper": (1024, 512, 256)}
_CNN_WIDTHS: dict[str, tuple[int, int, int]] = {"small": (8, 16, 64), "paper": (32, 64, 128)}
_CHUNK_VALUES = 1 << 22  # activations held at once when models are only evaluated: more do not fit a cache


@dataclass(frozen=True, slots=True)
class Linear:
    """x W^T + b, for every site of the stack in one batched product.

    Written as (W x^T)^T: the gradient of W then comes out in W's own layout, which halves the time of a step.
    """

    inputs: int
    outputs: int

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (self.outputs, self.inputs), (self.outputs,)

    def module(self) -> nn.Module:
        return nn.Linear(self.inputs, self.outputs)

    def apply(self, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
        weight, bias = weights
        return torch.baddbmm(bias.unsqueeze(2), weight, x.flatten(2).transpose(1, 2)).transpose(1, 2)


@dataclass(frozen=True, slots=True)
class Convolution:
    """3x3 convolution, padding 1; a stack of sites becomes the groups of one grouped convolution.

    On a processor the channels of a pixel lie side by side in memory, and stay so through pools to the next
    convolution: pools then read them as vectors, and no layer moves them.
    """

    inputs: int
    outputs: int

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (self.outputs, self.inputs, 3, 3), (self.outputs,)

    def module(self) -> nn.Module:
        return nn.Conv2d(self.inputs, self.outputs, kernel_size=3, padding=1)

    def apply(self, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
        weight, bias = weights
        sites, batch, _, height, width = x.shape
        side_by_side = x.transpose(0, 1).reshape(batch, sites * self.inputs, height, width)
        if x.device.type == "cpu":
            side_by_side = side_by_side.contiguous(memory_format=torch.channels_last)
        y = F.conv2d(side_by_side, weight.flatten(0, 1), bias.flatten(), padding=1, groups=sites)
        return y.view(batch, sites, self.outputs, height, width).transpose(0, 1)


@dataclass(frozen=True, slots=True)
class Pool:
    """2x2 maximum, of sites side by side as a convolution leaves them: nothing is moved in memory."""

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ()

    def module(self) -> nn.Module:
        return nn.MaxPool2d(2)

    def apply(self, x: Tensor, _: Sequence[Tensor]) -> Tensor:
        sites, batch, channels = x.shape[:3]
        y = F.max_pool2d(x.transpose(0, 1).flatten(1, 2), 2)
        return y.view(batch, sites, channels, *y.shape[2:]).transpose(0, 1)


@dataclass(frozen=True, slots=True)
class Relu:
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ()

    def module(self) -> nn.Module:
        return nn.ReLU()

    def apply(self, x: Tensor, _: Sequence[Tensor]) -> Tensor:
        return torch.relu(x)


@dataclass(frozen=True, slots=True)
class Flatten:
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ()

    def module(self) -> nn.Module:
        return nn.Flatten()

    def apply(self, x: Tensor, _: Sequence[Tensor]) -> Tensor:
        return x.flatten(2)


Layer = Linear | Convolution | Pool | Relu | Flatten


@cache
def pooled_first(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The same function and gradient, bit for bit: of a maximum, a quarter of the values is left to rectify."""
    ordered = list(layers)
    for place, pair in enumerate(pairwise(layers)):
        if pair == (Relu(), Pool()):
            ordered[place : place + 2] = Pool(), Relu()
    return tuple(ordered)


def run(layers: Sequence[Layer], weights: Sequence[Tensor], x: Tensor) -> Tensor:
    taken = 0
    for layer in layers:
        count = len(layer.shapes())
        x = layer.apply(x, weights[taken : taken + count])
        taken += count
    return x


@dataclass(frozen=True, slots=True)
class StackedModel:
    """A `Model` made of layers."""

    layers: tuple[Layer, ...]
    classes: int
    widest: int

    draws = False
    unstackable = None

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(shape for layer in self.layers for shape in layer.shapes())

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def head_start(self) -> int:
        return self.parameters - sum(math.prod(shape) for shape in self.layers[-1].shapes())

    @property
    def body(self) -> "StackedModel":
        return replace(self, layers=self.layers[:-1], classes=self.layers[-1].shapes()[0][1])

    @property
    def head(self) -> "StackedModel":
        return replace(self, layers=self.layers[-1:])

    def views(self, theta: Tensor) -> list[Tensor]:
        bounds = accumulate((math.prod(shape) for shape in self.shapes), initial=0)
        return [
            theta[:, a:b].view(len(theta), *shape) for (a, b), shape in zip(pairwise(bounds), self.shapes, strict=True)
        ]

    def apply(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None = None) -> Tensor:  # noqa: ARG002 - nothing is drawn
        return run(pooled_first(self.layers), weights, x)

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        rows = max(1, _CHUNK_VALUES // (len(theta) * self.widest))
        with torch.no_grad():
            weights = self.views(theta)
            return torch.cat([self.apply(weights, part) for part in x.split(rows, dim=1)], dim=1)

    def module(self) -> nn.Sequential:
        return nn.Sequential(*(layer.module() for layer in self.layers))

    def weights_of(self, module: nn.Module) -> list[nn.Parameter]:
        return list(module.parameters())

    def call(self, module: nn.Module, x: Tensor, key: Tensor | None = None) -> Tensor:  # noqa: ARG002 - nothing is drawn
        answer: Tensor = module(x)
        return answer

    def initial(self, rng: np.random.Generator) -> Tensor:
        """Torch's own default initialisation, U(-1/sqrt(fan_in), 1/sqrt(fan_in)), from a keyed stream."""
        parts = []
        for layer in self.layers:
            for shape in layer.shapes():
                bound = 1 / math.sqrt(math.prod(layer.shapes()[0][1:]))
                parts.append(rng.uniform(-bound, bound, size=math.prod(shape)))
        return torch.from_numpy(np.concatenate(parts).astype(np.float32))


def build_model(shape: tuple[int, ...], classes: int, preset: Preset) -> StackedModel:
    """MLP for vectors, CNN for images [channels, height, width]; ``linear`` for rows of any shape."""
    if preset == "linear":
        return _linear(shape, classes)
    match shape:
        case (features,):
            return _mlp(features, classes, _MLP_HIDDEN[preset])
        case (channels, height, width):
            return _cnn(channels, height, width, classes, _CNN_WIDTHS[preset])
    raise BadInput(
        f"Rows of shape {shape} fit neither model of {preset!r}: expected (features,) or (channels, height, width). "
        "Sequences fit lstm and transformer, any shape linear, or a model of your own."
    )


def _linear(shape: tuple[int, ...], classes: int) -> StackedModel:
    """Logistic or linear regression, as the task has it."""
    features = math.prod(shape)
    flatten: tuple[Layer, ...] = () if len(shape) == 1 else (Flatten(),)
    return StackedModel((*flatten, Linear(features, classes)), classes, max(features, classes))


def _mlp(features: int, classes: int, hidden: tuple[int, ...]) -> StackedModel:
    layers: list[Layer] = []
    for inputs, outputs in pairwise((features, *hidden)):
        layers += [Linear(inputs, outputs), Relu()]
    return StackedModel((*layers, Linear(hidden[-1], classes)), classes, max(features, *hidden))


def _cnn(channels: int, height: int, width: int, classes: int, widths: tuple[int, int, int]) -> StackedModel:
    first, second, dense = widths
    flat = second * (height // 4) * (width // 4)
    if flat == 0:
        raise BadInput(f"Images of {height} x {width} are too small for two rounds of pooling: at least 4 x 4.")
    body: tuple[Layer, ...] = (Convolution(channels, first), Relu(), Pool(), Convolution(first, second), Relu(), Pool())
    head: tuple[Layer, ...] = (Flatten(), Linear(flat, dense), Relu(), Linear(dense, classes))
    return StackedModel(body + head, classes, max(channels, first) * height * width)
