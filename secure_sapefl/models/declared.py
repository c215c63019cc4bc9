"""A model whose code is not here: what a study's file says of it, enough to count, weigh and cut its weights.

An agent and a coordinator know such a model by its parameters alone. Whoever asks it for an answer is refused: its code
runs in a trainer process and nowhere else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Model

CARRIED: Final = "carried"
"""What a study that brings its model's code calls that model."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A trained tensor of a module."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredModel:
    weights: tuple[Parameter, ...]  # in the order of the flat vector
    head_start: int
    classes: int
    digest: str  # of its source

    @property
    def parameters(self) -> int:
        return sum(math.prod(weight.shape) for weight in self.weights)

    @property
    def widest(self) -> int:
        return max(1, self.classes)

    @property
    def draws(self) -> bool:
        return _elsewhere()

    @property
    def unstackable(self) -> str | None:
        return _elsewhere()

    @property
    def body(self) -> Model:
        return _elsewhere()

    @property
    def head(self) -> Model:
        return _elsewhere()

    def views(self, theta: Tensor) -> list[Tensor]:  # noqa: ARG002 - a model's signature, as in all below
        return _elsewhere()

    def apply(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return _elsewhere()

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:  # noqa: ARG002
        return _elsewhere()

    def module(self) -> nn.Module:
        return _elsewhere()

    def weights_of(self, module: nn.Module) -> list[nn.Parameter]:  # noqa: ARG002
        return _elsewhere()

    def call(self, module: nn.Module, x: Tensor, key: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return _elsewhere()

    def initial(self, rng: np.random.Generator) -> Tensor:  # noqa: ARG002
        """As long as the weights are, and without values: those are the code's."""
        return torch.empty(self.parameters, device="meta")


def declared_weights(model: Model) -> tuple[Parameter, ...]:
    """What a model that is here would be declared as."""
    module = model.module()
    names = {id(weight): name for name, weight in module.named_parameters()}
    return tuple(Parameter(names[id(weight)], tuple(weight.shape)) for weight in model.weights_of(module))


def _elsewhere() -> NoReturn:
    raise BadInput("This model's code is carried by its study, and is run in a site's trainer process alone.")
