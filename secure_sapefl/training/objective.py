"""What a site minimises, split the way differential privacy needs it.

An objective has a part that reads records (`loss`, of the outputs) and a part that reads none (`weight_penalty`, of
the weights alone). The second has a gradient in closed form, always a combination of the weights and a few anchors,
so an engine adds it to a step without a second backward pass, and DP-SGD adds it *after* clipping and noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

from torch import Tensor

from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION, SLOPES


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's rows of the active sites; ``rows`` counts within the site, ``weight`` sums to 1 over a batch."""

    x: Tensor  # [G, B, ...]
    y: Tensor  # [G, B], or [G, B, columns] where labels are no classes
    rows: Tensor  # [G, B]
    weight: Tensor  # [G, B]
    keys: Tensor | None = None  # int64 [G], for a model that draws while it trains
    task: Task = CLASSIFICATION  # what the labels are for

    def narrow(self, sites: slice) -> "Batch":
        """Some of the sites'."""
        keys = None if self.keys is None else self.keys[sites]
        x, y, rows, weight = (part[sites] for part in (self.x, self.y, self.rows, self.weight))
        return replace(self, x=x, y=y, rows=rows, weight=weight, keys=keys)

    def at_site(self, site: int, kept: Tensor) -> "Batch":
        """One site's, of the records that are ``kept``, bool [B]."""
        keys = None if self.keys is None else self.keys[site : site + 1]
        x, y, rows, weight = (part[site][kept][None] for part in (self.x, self.y, self.rows, self.weight))
        return replace(self, x=x, y=y, rows=rows, weight=weight, keys=keys)


@dataclass(frozen=True, slots=True)
class Pull:
    """A gradient of the form own * theta + sum_i coefficient_i * anchor_i, row by row."""

    own: Tensor  # [G], or [G, P] where some weights are held more than others
    coefficients: Tensor  # [G, A]
    anchors: tuple[Tensor, ...]  # A of [G, P]

    def dense(self, theta: Tensor) -> Tensor:
        total = _by_row(self.own) * theta
        for coefficient, anchor in self._terms():
            total = total + coefficient * anchor
        return total

    def step_(self, theta: Tensor, lr: float) -> None:
        """theta <- theta - lr * gradient, in place."""
        theta.mul_(_by_row(1 - lr * self.own))
        self.draw_(theta, lr)

    def draw_(self, theta: Tensor, lr: float) -> None:
        """The anchors' part of the step."""
        for coefficient, anchor in self._terms():
            theta.addcmul_(-lr * coefficient, anchor)

    def _terms(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.coefficients.split(1, 1), self.anchors, strict=True)


def _by_row(own: Tensor) -> Tensor:
    return own.unsqueeze(1) if own.dim() == 1 else own


class Objective(Protocol):
    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """The part that reads records: one number a site, [G]."""

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """The same part as a sum over records, for DP-SGD to clip one by one: a number a record, [G, B]."""

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        """The part that reads no record, [G], or None where there is none."""

    def weight_pull(self, theta: Tensor) -> Pull | None:
        """The gradient of `weight_penalty`, in closed form."""

    def narrow(self, sites: slice) -> Self:
        """The same objective for some of the sites."""


@runtime_checkable
class HasSlope(Protocol):
    def slope(self, outputs: Tensor, batch: Batch) -> Tensor | None:
        """The gradient of `loss` by the outputs, [G, B, K], in closed form; None where this batch's has none."""


def record_losses(logits: Tensor, batch: Batch) -> Tensor:
    """The task's loss of every record, [G, B]: cross-entropy in a classification."""
    return batch.task.losses(logits, batch.y)


def mean_loss(logits: Tensor, batch: Batch) -> Tensor:
    """The task's loss over each site's batch, [G]."""
    return batch.task.loss(logits, batch.y, batch.weight)


def task_slope(outputs: Tensor, batch: Batch) -> Tensor | None:
    """d `mean_loss` / d outputs [G, B, K], where the task's loss has one in closed form."""
    closed = None if batch.task.record_loss is None else SLOPES.get(batch.task.record_loss)
    return None if closed is None else closed(outputs, batch.y).mul_(batch.weight.unsqueeze(2))


class TaskLoss:
    """An objective whose records bring nothing but their loss in the batch's task."""

    __slots__ = ()

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        return mean_loss(logits, batch)

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        return record_losses(logits, batch)


@dataclass(frozen=True, slots=True)
class LocalLoss(TaskLoss):
    """L_c alone: plain local training."""

    def weight_penalty(self, theta: Tensor) -> Tensor | None:  # noqa: ARG002 - plain training has none
        return None

    def weight_pull(self, theta: Tensor) -> Pull | None:  # noqa: ARG002 - nor a pull
        return None

    def narrow(self, sites: slice) -> Self:  # noqa: ARG002 - the same for every site
        return self


@dataclass(frozen=True, slots=True)
class Proximal(TaskLoss):
    """L_c + strength/2 * ||theta - anchor||^2, the leash of FedProx, Ditto and their kin."""

    anchor: Tensor  # [G, P] or [P]
    strength: Tensor  # [G]

    def weight_penalty(self, theta: Tensor) -> Tensor | None:
        return self.strength / 2 * (theta - self.anchor).square().sum(1)

    def weight_pull(self, theta: Tensor) -> Pull | None:  # noqa: ARG002 - linear: the pull does not depend on theta
        return Pull(self.strength, -self.strength.unsqueeze(1), (self.anchor.expand(len(self.strength), -1),))

    def narrow(self, sites: slice) -> Self:
        anchor = self.anchor[sites] if self.anchor.dim() == 2 else self.anchor
        return type(self)(anchor, self.strength[sites])
