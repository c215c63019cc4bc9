"""The tasks that have a name here: classification, labels that are yes or no, and regression."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind
from secure_sapefl.metrics import CLASS_METRICS, ERRORS, LABEL_METRICS, sigmoid, softmax
from secure_sapefl.tasks.base import RecordLoss, Task


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(outputs, y, reduction="none")


def cross_entropy_slope(outputs: Tensor, y: Tensor) -> Tensor:
    """Softmax, less 1 at the class that is true."""
    slope, classes = outputs.softmax(-1), y.unsqueeze(-1)
    return slope.scatter_add_(-1, classes, slope.new_full((1,), -1.0).expand(classes.shape))


SLOPES: Final[Mapping[RecordLoss, RecordLoss]] = {cross_entropy: cross_entropy_slope}
"""d loss / d outputs in closed form, for losses that have one here. A plain dictionary, for torch.compile to follow."""


def labels_cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """The mean over labels, so that a learning rate and a clip mean the same for few labels and for many."""
    return F.binary_cross_entropy_with_logits(outputs, y, reduction="none").mean(1)


def half_squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """The negative log-likelihood of a normal distribution of deviation 1, but for a constant; mean over columns."""
    return (outputs - y).square().mean(1) / 2


def beside_one(outputs: Tensor) -> Tensor:
    """A number z as the direction (z, 1). Of single numbers a cosine sees the sign alone; of these it is 1 where two
    models answer alike and falls the further they are apart."""
    return torch.cat([outputs, torch.ones_like(outputs[..., :1])], -1)


def log_shares(counts: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG001 - classes share all rows
    """The log of label shares, half a row added to every class, [G, K]."""
    counts = counts + 0.5
    return (counts / counts.sum(1, keepdim=True)).log()


def log_odds(counts: Tensor, rows: Tensor) -> Tensor:
    """Of yes against no, half a row added to both."""
    return ((counts + 0.5) / (rows - counts).clamp(min=0).add(0.5)).log()


CLASSIFICATION: Final = Task(
    name="classification",
    labels="class",
    metrics=CLASS_METRICS,
    record_loss=cross_entropy,
    centred=lambda outputs: outputs.softmax(-1),
    label_shift=log_shares,
    read=softmax,
)
MULTILABEL: Final = Task(
    name="multilabel",
    labels="yes-no",
    metrics=LABEL_METRICS,
    record_loss=labels_cross_entropy,
    compared=beside_one,
    centred=torch.sigmoid,
    label_shift=log_odds,
    read=sigmoid,
)
REGRESSION: Final = Task(
    name="regression",
    labels="number",
    metrics=ERRORS,
    record_loss=half_squared_error,
    compared=beside_one,
    scaled=True,
)
TASKS: Final[Mapping[str, Task]] = MappingProxyType(
    {task.name: task for task in (CLASSIFICATION, MULTILABEL, REGRESSION)}
)
BY_LABELS: Final[Mapping[LabelKind, Task]] = MappingProxyType({task.labels: task for task in TASKS.values()})
"""What data is for by itself, where nobody says more."""


def with_weights(task: Task, weights: str | None, classes: int) -> Task:
    """``weights`` as a configuration has them: numbers, in the order of the classes."""
    if weights is None:
        return task
    if task.record_loss is not cross_entropy:
        raise BadInput("Class weights are for classification. Leave out --class-weights, or weigh in the task's loss.")
    numbers = [float(one) for one in weights.split(",")]
    if len(numbers) != classes:
        raise BadInput(f"There are {len(numbers)} class weights and {classes} classes: give one for each, in order.")
    return weighted(task, numbers)


def weighted(task: Task, weights: Sequence[float]) -> Task:
    """A classification in which a record of class k counts ``weights[k]`` times."""

    @cache
    def by_class(device: torch.device) -> Tensor:
        return torch.tensor(weights, device=device)

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(outputs, y) * by_class(outputs.device)[y]

    return replace(task, record_loss=loss)
