"""What a model is to the rest of the system.

A model is a description: its weights live outside it, one flat vector a site, the body's before the head's. A group of
G sites is a matrix ``theta`` of shape [G, P]. So updates can be weighed and added, models compared, and a head cut off,
whatever the network is. Only weights that are trained are in the vector; what stands still is the model's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of the data before a model is built."""

    shape: tuple[int, ...]  # of a row
    outputs: int  # values a model answers with for a row; of a classification, the classes
    task: str = "classification"


Build = Callable[[Description], nn.Module]
"""A function of one's own: from the data's description to an ordinary module, [B, *shape] to [B, outputs]."""


class Model(Protocol):
    @property
    def classes(self) -> int:
        """Values it answers with for a row; of a body, the features."""

    @property
    def widest(self) -> int:
        """Values one row fills at its widest point; sizes chunks of work."""

    @property
    def parameters(self) -> int:
        """P, the length of a weight vector."""

    @property
    def head_start(self) -> int:
        """Where the head begins in the flat vector: body before it, head from it on; P where no head is known."""

    @property
    def body(self) -> "Model":
        """All but the head; its outputs are the features, its weights ``theta[:, :head_start]``."""

    @property
    def head(self) -> "Model":
        """The head, on features; its weights are ``theta[:, head_start:]``."""

    @property
    def draws(self) -> bool:
        """Whether training draws random numbers (dropout): batches then need keys."""

    @property
    def unstackable(self) -> str | None:
        """Why its sites can only be trained one after another; None where they can be side by side."""

    def views(self, theta: Tensor) -> list[Tensor]:
        """The weights of each layer as views into ``theta`` [G, P]: writing to one writes to the other."""

    def apply(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor | None = None) -> Tensor:
        """Answers [G, B, K] of G sites in training, on their own batches ``x`` [G, B, ...]; ``weights`` as `views`
        gives them; ``keys`` [G] for what is drawn."""

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        """f(theta, x) for a stack of models in use: without gradients, nothing drawn, as many rows at a time as memory
        is meant for."""

    def module(self) -> nn.Module:
        """The ordinary torch module of one site, with weights of its own, ready to be trained."""

    def weights_of(self, module: nn.Module) -> list[nn.Parameter]:
        """What is trained of such a module, in the order of the flat vector."""

    def call(self, module: nn.Module, x: Tensor, key: Tensor | None = None) -> Tensor:
        """What a site's `module` answers in training, [B, K], with the draws of ``key``."""

    def initial(self, rng: np.random.Generator) -> Tensor:
        """The weights everybody starts from, [P]."""


def flat(model: Model, module: nn.Module) -> Tensor:
    """The weight vector of a site's module, [P]."""
    return torch.cat([weight.detach().flatten() for weight in model.weights_of(module)])


def joined(parts: Sequence[Tensor]) -> Tensor:
    """One row [P] a site, of what every weight has [G, *shape]; a weight may be a single number."""
    return torch.cat([part.reshape(len(part), -1) for part in parts], 1)


def loaded(model: Model, theta: Tensor) -> nn.Module:
    """A site's module with the weights ``theta`` [P]."""
    module = model.module().to(theta.device)
    put(model, module, theta)
    return module


def put(model: Model, module: nn.Module, theta: Tensor) -> None:
    """Give a site's module the weights ``theta`` [P]."""
    weights = model.weights_of(module)
    with torch.no_grad():
        for weight, part in zip(weights, theta.split([weight.numel() for weight in weights]), strict=True):
            weight.copy_(part.view_as(weight))
