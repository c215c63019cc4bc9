"""What a task has to have."""

import pytest
import torch

from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import ERRORS
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import half_squared_error


def of_batches(outputs: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return ((outputs - y).squeeze(1) * weight).sum().abs()


def test_a_loss_of_whole_batches_is_taken_site_by_site_and_has_no_records() -> None:
    task = Task(name="mine", labels="number", metrics=ERRORS, batch_loss=of_batches)
    outputs, y = torch.tensor([[[1.0], [3.0]], [[5.0], [0.0]]]), torch.zeros(2, 2, 1)
    assert task.loss(outputs, y, torch.tensor([[0.5, 0.5], [1.0, 0.0]])).tolist() == [2.0, 5.0]
    with pytest.raises(BadInput, match="no record has a loss of its own"):
        task.losses(outputs, y)


def test_a_task_has_one_loss_and_a_metric() -> None:
    with pytest.raises(BadInput, match="record_loss or a batch_loss"):
        Task(name="mine", labels="number", metrics=ERRORS)
    with pytest.raises(BadInput, match="no metric"):
        Task(name="mine", labels="number", metrics=(), record_loss=half_squared_error)
