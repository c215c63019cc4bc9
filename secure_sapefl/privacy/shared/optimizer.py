"""What all sites do alike with an opened sum: the same step of the same optimiser. It reads no record, and is free.

What sites hold in common stands in one row, so that it travels, is saved and resumed like a global model:

    [ mean of iterates | theta_t | momentum | second moments (Adam) | t ]

The model that is used, and that a reader of the first P numbers finds, is the mean of the iterates of the second half
of the steps; before, the newest one. Momentum is Polyak's; Adam is Kingma and Ba's (arXiv:1412.6980), with its bias
corrected.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from secure_sapefl.config import Optimizer

MOMENTUM: Final = 0.9
FORGETTING: Final = 1 - MOMENTUM
_SECOND: Final = 0.99
_TINY: Final = 1e-8


@dataclass(frozen=True, slots=True)
class Iterate:
    """The common row, taken apart: every tensor is [P]; ``second`` is empty without Adam."""

    mean: Tensor
    theta: Tensor
    momentum: Tensor
    second: Tensor
    steps: int

    @classmethod
    def first(cls, theta: Tensor, optimizer: Optimizer) -> "Iterate":
        nothing = torch.zeros_like(theta)
        return cls(theta, theta, nothing, nothing if optimizer == "adam" else nothing[:0], 0)

    @classmethod
    def from_row(cls, row: Tensor, parameters: int) -> "Iterate":
        mean, theta, momentum, second = row[:-1].split([parameters] * 3 + [len(row) - 1 - 3 * parameters])
        return cls(mean, theta, momentum, second, int(row[-1]))

    def row(self) -> Tensor:
        return torch.cat((self.mean, self.theta, self.momentum, self.second, self.theta.new_tensor([self.steps])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """A schedule of ``steps``, of which some may fail: then the rate falls later, and does not reach 0."""

    optimizer: Optimizer
    lr: float
    steps: int

    def step(self, now: Iterate, gradient: Tensor) -> Iterate:
        """``gradient`` in clips: divided by the clip."""
        taken = now.steps + 1
        match self.optimizer:
            case "momentum":
                momentum, second = MOMENTUM * now.momentum + gradient, now.second
                move = momentum
            case "adam":
                momentum = MOMENTUM * now.momentum + FORGETTING * gradient
                second = _SECOND * now.second + (1 - _SECOND) * gradient.square()
                centred, sized = momentum / (1 - MOMENTUM**taken), second / (1 - _SECOND**taken)
                move = centred / (sized.sqrt() + _TINY)
        theta = now.theta - self.rate(now.steps) * move
        return Iterate(self._mean(now, theta, taken), theta, momentum, second, taken)

    def rate(self, taken: int) -> float:
        """lr (1 - t / T), and never below 0."""
        return self.lr * max(0.0, 1 - taken / self.steps)

    def _mean(self, now: Iterate, theta: Tensor, taken: int) -> Tensor:
        counted = taken - self.steps // 2
        return theta if counted <= 1 else now.mean + (theta - now.mean) / counted
