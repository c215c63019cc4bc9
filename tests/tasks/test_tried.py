"""What a loss of one's own has to be, found out before a study begins."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import ERRORS
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import TASKS
from secure_sapefl.tasks.own import find
from secure_sapefl.tasks.tried import require_sound

SURVIVAL = find(str(Path(__file__).parents[2] / "examples/tasks/survival.py")).task


def of_records(loss: Callable[..., Any]) -> Task:
    return Task(name="mine", labels="number", metrics=ERRORS, record_loss=loss)


@pytest.mark.parametrize("task", [*TASKS.values(), SURVIVAL, of_records(lambda o, y: (o - y).abs().sum(1))])
def test_tasks_that_hold(task: Task) -> None:
    require_sound(task, 2)


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda o, y: (o - y).square().mean(), r"'mine' gives \(\) for 4 records, expected \(4,\): a loss for each"),
        (lambda o, y: (o - y).square(), r"gives \(4, 2\) for 4 records"),
        (lambda o, y: 3.0, "gives float for"),
        (lambda o, y: (o - y).detach().sum(1), "no gradient.*by torch"),
        (lambda o, y: (o - y - (o - y).mean(0)).square().sum(1), "where the other records of the batch are others"),
        (lambda o, y: (o - y.mean(0)).square().sum(1), "where the other records"),
    ],
)
def test_losses_that_are_refused(loss: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        require_sound(of_records(loss), 2)


def test_the_loss_of_a_batch_is_one_number() -> None:
    task = replace(SURVIVAL, batch_loss=lambda o, y, weight: torch.as_tensor(o[:, 0] * weight))
    with pytest.raises(BadInput, match=r"gives \(4,\) for 4 records, expected \(\): one number for a batch"):
        require_sound(task, 2)
