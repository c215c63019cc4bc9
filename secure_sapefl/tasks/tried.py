"""A task of the user's own, tried on a few made-up answers and labels before a study begins.

The loss of a record is that record's alone: a budget clips its gradient on that word, so it is not taken on trust.
"""

from typing import Final

import torch
from torch import Tensor

from secure_sapefl.errors import BadInput
from secure_sapefl.tasks.base import Task

_RECORDS: Final = 4


def require_sound(task: Task, columns: int) -> None:
    """``columns`` is the number of classes, or of label columns; `BadInput` says what the loss should be."""
    random = torch.Generator().manual_seed(0)
    outputs = torch.rand((_RECORDS, task.outputs(columns)), generator=random).requires_grad_()
    y = _labels(task, columns, random)
    if task.batch_loss is not None:
        weight = torch.full((_RECORDS,), 1 / _RECORDS)
        _require_learned_from(task, task.batch_loss(outputs, y, weight), (), "one number for a batch")
    if task.record_loss is not None:
        losses = task.record_loss(outputs, y)
        _require_learned_from(task, losses, (_RECORDS,), "a loss for each record")
        others = {"class": (y + 1) % columns, "yes-no": 1 - y, "number": 2 * y + 1}[task.labels]
        rows = torch.cat([outputs[:1], 2 * outputs[1:] + 1]), torch.cat([y[:1], others[1:]])
        among_others = task.record_loss(*rows)
        if not torch.allclose(losses[:1], among_others[:1], rtol=1e-4, atol=1e-5, equal_nan=True):
            raise BadInput(
                f"The record_loss of the task {task.name!r} gives a record another loss where the other records of the "
                "batch are others. Let each follow from its own outputs and label, or give the task a batch_loss."
            )


def _require_learned_from(task: Task, loss: object, shape: tuple[int, ...], what: str) -> None:
    found = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
    if not isinstance(loss, Tensor) or loss.shape != shape:
        raise BadInput(
            f"The loss of the task {task.name!r} gives {found} for {_RECORDS} records, expected {shape}: {what}."
        )
    if not loss.requires_grad:
        raise BadInput(
            f"The loss of the task {task.name!r} has no gradient, so nothing can be learned. Compute it by torch from "
            "the outputs."
        )


def _labels(task: Task, columns: int, random: torch.Generator) -> Tensor:
    if task.labels == "class":
        return torch.randint(columns, (_RECORDS,), generator=random)
    numbers = torch.rand((_RECORDS, columns), generator=random)
    return numbers.round() if task.labels == "yes-no" else numbers
