"""Survival: who is at risk earlier? Cox's loss (1972, Breslow's form for ties) and Harrell's concordance.

A label is two numbers: the time under observation, and 1 where it ended with the event (0: the person left before).
"""

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.metrics import Array, Metric
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import beside_one


def cox_loss(outputs: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Of everybody with an event: how much risk the others have who were still under observation then."""
    risk, time, event = outputs[:, 0], y[:, 0], y[:, 1] * (weight > 0)
    still_here = (time[None] >= time[:, None]) & (weight > 0)[None] | torch.eye(len(time), dtype=torch.bool)
    together = torch.logsumexp(risk[None].masked_fill(~still_here, -torch.inf), 1)
    return ((together - risk) * event).sum() / event.sum().clamp(min=1)


def concordance(outputs: Array, y: Array) -> float:
    """Of the pairs in which one is known to have had the event first, those where it had the higher risk."""
    risk, time, event = outputs[:, 0], y[:, 0], y[:, 1] > 0
    first = event[:, None] & (time[:, None] < time[None])
    right = np.sign(risk[:, None] - risk[None]) / 2 + 0.5
    return float(right[first].mean()) if first.any() else float("nan")


TASK = Task(
    name="survival",
    labels="number",
    outputs=lambda _: 1,
    batch_loss=cox_loss,
    metrics=(Metric(name="concordance", title="concordance", higher_is_better=True, measure=concordance),),
    compared=beside_one,
)
