"""What a task is: what labels are, what a model is corrected for, and how its answers are compared and judged.

    loss        the loss of each record, or, where records cannot be parted (Cox), of a batch
    outputs     how many values a model answers with
    metrics     how answers are judged on test rows, the main one first
    compared    answers as vectors, whose angle is the similarity of outputs (Eq. 7 and 10)
    centred     answers as vectors that are compared around their mean (sape/centred.py)

Whoever has a task of their own makes a `Task`; docs/tasks.md shows one for survival.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind
from secure_sapefl.metrics import Array, Metric

RecordLoss = Callable[[Tensor, Tensor], Tensor]
"""From outputs [n, K] and labels (classes [n], or numbers [n, columns]) to a loss for each record, [n]."""
BatchLoss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From one site's outputs [n, K], labels and weights [n], which sum to 1 and are 0 where there is no record, to its
loss, a single number."""
Vectors = Callable[[Tensor], Tensor]


def as_answered(outputs: Tensor) -> Tensor:
    return outputs


def as_measured(outputs: Array) -> Array:
    return outputs


def as_many(names: int) -> int:
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """``record_loss`` or ``batch_loss``; only the first has gradients of single records, which a budget needs."""

    name: str
    labels: LabelKind
    metrics: tuple[Metric, ...]
    record_loss: RecordLoss | None = None
    batch_loss: BatchLoss | None = None
    outputs: Callable[[int], int] = as_many  # of the number of classes, or of label columns
    compared: Vectors = as_answered
    centred: Vectors = as_answered
    label_shift: Callable[[Tensor, Tensor], Tensor] | None = None
    """From how many of a site's rows have each label [G, K], and how many rows there are [G, 1], to what is added to a
    common model's outputs so that they fit that mix of labels; None where labels have no mix."""
    scaled: bool = False  # numbers are learned on a scale, and reported in their units
    read: Callable[[Array], Array] = as_measured  # outputs as people read them: probabilities, or numbers

    def __post_init__(self) -> None:
        if (self.record_loss is None) == (self.batch_loss is None):
            raise BadInput(f"The task {self.name!r} has a record_loss or a batch_loss: give one of them.")
        if not self.metrics:
            raise BadInput(f"The task {self.name!r} has no metric: give at least one, by which models are judged.")

    def losses(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Of every record, [G, B], from outputs [G, B, K]."""
        if self.record_loss is None:
            raise BadInput(without_records(self))
        return self.record_loss(outputs.flatten(0, 1), y.flatten(0, 1)).view(outputs.shape[:2])

    def loss(self, outputs: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Of each site's batch, [G]; ``weight`` [G, B] sums to 1 over a batch."""
        if self.batch_loss is None:
            return (self.losses(outputs, y) * weight).sum(1)
        return torch.stack([self.batch_loss(*site) for site in zip(outputs, y, weight, strict=True)])


def without_records(task: Task) -> str:
    return (
        f"The loss of the task {task.name!r} is one of whole batches: no record has a loss of its own that could be "
        "clipped. Leave out the privacy budget, or give the task a record_loss."
    )
