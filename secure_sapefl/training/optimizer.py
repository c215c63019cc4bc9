"""How a gradient becomes a step, for a stack of sites: SGD with momentum, Adam (Kingma & Ba, arXiv:1412.6980) and AdamW
(Loshchilov & Hutter, arXiv:1711.05101), as `torch.optim` has them, with the norm of a site's gradient bounded first.

Plain SGD needs none of this: its step is taken in place (`descent.py`).
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from secure_sapefl.config import LocalOptimizer

_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8  # torch's own defaults for Adam


@dataclass(frozen=True, slots=True)
class Moments:
    """What an optimizer remembers of its steps, row by row, changed in place."""

    first: Tensor  # [G, P]
    second: Tensor  # [G, P], of Adam
    steps: Tensor  # [G]

    @classmethod
    def none_yet(cls, theta: Tensor) -> "Moments":
        return cls(torch.zeros_like(theta), torch.zeros_like(theta), theta.new_zeros(len(theta)))

    def narrow(self, sites: slice) -> "Moments":
        return Moments(self.first[sites], self.second[sites], self.steps[sites])

    def to(self, device: torch.device | str) -> "Moments":
        return Moments(self.first.to(device), self.second.to(device), self.steps.to(device))

    def only(self, sites: list[int]) -> "Moments":
        """Of some sites, to be changed apart from these."""
        return Moments(self.first[sites], self.second[sites], self.steps[sites])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRule:
    """What a study says of its steps, but for the learning rate."""

    name: LocalOptimizer = "sgd"
    momentum: float = 0.0
    weight_decay: float = 0.0
    max_norm: float | None = None  # of a site's gradient

    @property
    def is_plain(self) -> bool:
        return self == PLAIN

    def begun(self, theta: Tensor) -> "Stepper | None":
        """For a training that starts from ``theta`` [G, P] and remembers nothing; None where steps are plain."""
        return None if self.is_plain else Stepper(self, Moments.none_yet(theta))


PLAIN: Final = StepRule()


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a training's steps go, and what takes them where they are not plain."""

    lr: float
    stepper: "Stepper | None" = None


@dataclass(frozen=True, slots=True)
class Stepper:
    """A rule under way."""

    rule: StepRule
    moments: Moments

    def narrow(self, sites: slice) -> "Stepper":
        return Stepper(self.rule, self.moments.narrow(sites))

    def step_(self, theta: Tensor, gradient: Tensor, lr: float) -> None:
        """One step of all sites, in place; ``gradient`` [G, P] is that of the whole objective."""
        rule = self.rule
        if rule.max_norm is not None:
            gradient = gradient * (rule.max_norm / gradient.norm(dim=1, keepdim=True).clamp(min=rule.max_norm))
        if rule.name == "adamw":
            theta.mul_(1 - lr * rule.weight_decay)
        elif rule.weight_decay:
            gradient = gradient + rule.weight_decay * theta
        self.moments.steps.add_(1)
        if rule.name == "sgd":
            theta.add_(self.moments.first.mul_(rule.momentum).add_(gradient), alpha=-lr)
        else:
            self._adam_(theta, gradient, lr)

    def _adam_(self, theta: Tensor, gradient: Tensor, lr: float) -> None:
        first, second, taken = self.moments.first, self.moments.second, self.moments.steps.unsqueeze(1)
        first.lerp_(gradient, 1 - _FIRST)
        second.mul_(_SECOND).addcmul_(gradient, gradient, value=1 - _SECOND)
        spread = (second / (1 - _SECOND**taken)).sqrt_().add_(_TINY)
        theta.sub_(lr * first / (1 - _FIRST**taken) / spread)
