"""What others' model says of a record, beside the record's own label.

A site with few rows, or with labels of which some are wrong, soon knows its labels by heart. So a model from elsewhere
(its peers', or the common one), told how frequent each label is at the site, is asked what it expects of each record,
and its word counts as ``advice`` rows would:

    p_i = mean(z_i + log pi_c),    a_c = advice / (advice + n_c),    y_i <- (1 - a_c) y_i + a_c p_i

Cross-entropy is linear in the label, so the loss is a mixture of two. Not in the paper: distillation (Hinton, Vinyals,
Dean 2015, arXiv:1503.02531) with a share that rows decide. Numbers have no label mix; there nobody is asked.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import SLOPES
from secure_sapefl.training.objective import Batch, Pull, mean_loss, record_losses, task_slope


def expected_labels(task: Task, outputs: Tensor, shift: Tensor) -> Tensor:
    """p, [G, n, K], of outputs [G, n, K] and log pi_c [G, K]."""
    told = outputs + shift.unsqueeze(1)
    return told.softmax(-1) if task.labels == "class" else told.sigmoid()


def share_of_advice(advice: float, rows: Tensor) -> Tensor:
    """a_c, [G]."""
    return advice / (advice + rows)


def unlike(task: Task, outputs: Tensor, expected: Tensor) -> Tensor:
    """The cross-entropy of answers against what is expected, [G, B]; the mean over labels where there are several.
    Where records have another loss, weighted classes say, it is what that loss expects of a label so drawn."""
    if task.labels != "class":
        return F.binary_cross_entropy_with_logits(outputs, expected, reduction="none").mean(-1)
    if task.record_loss is None or task.record_loss in SLOPES:
        return -(expected * outputs.log_softmax(-1)).sum(-1)
    label = torch.zeros(outputs.shape[:2], dtype=torch.long, device=outputs.device)
    drawn = [task.losses(outputs, label + k) for k in range(expected.shape[-1])]
    return (expected * torch.stack(drawn, -1)).sum(-1)


@dataclass(frozen=True, slots=True)
class Advised:
    """(1 - a_c) L_c + a_c times the cross-entropy against what is expected."""

    expected: Tensor  # p, [G, n, K]
    share: Tensor  # a_c, [G]

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        advice = (unlike(batch.task, logits, self._of(batch)) * batch.weight).sum(1)
        return (1 - self.share) * mean_loss(logits, batch) + self.share * advice

    def record_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        share = self.share.unsqueeze(1)
        return (1 - share) * record_losses(logits, batch) + share * unlike(batch.task, logits, self._of(batch))

    def slope(self, outputs: Tensor, batch: Batch) -> Tensor | None:
        own = task_slope(outputs, batch)
        if own is None or batch.task.labels != "class":
            return None
        share = self.share.view(-1, 1, 1)
        advised = outputs.softmax(-1).sub_(self._of(batch)).mul_(share * batch.weight.unsqueeze(2))
        return advised.addcmul_(own, 1 - share)

    def weight_penalty(self, theta: Tensor) -> Tensor | None:  # noqa: ARG002 - nobody is held anywhere
        return None

    def weight_pull(self, theta: Tensor) -> Pull | None:  # noqa: ARG002 - nor pulled
        return None

    def narrow(self, sites: slice) -> Self:
        return type(self)(self.expected[sites], self.share[sites])

    def _of(self, batch: Batch) -> Tensor:
        sites = torch.arange(len(batch.rows), device=batch.rows.device).unsqueeze(1)
        return self.expected[sites, batch.rows]
