"""Whose model fits a site's rows better, once both know how frequent each label is there.

Sites with the same labels would look like sites with the same concept: of two models the one from sites with a similar
mix of labels fits better, whatever it knows. So a bias a label is fitted to each model first, on the site's own rows:

    b = argmin sum_i loss(z_i + b, y_i) + |b|^2 / 2

and what is left of the difference, record by record, is held against its own standard error. Not in the paper;
`sapefl-plus` decides by it whether a site listens to its peers.
"""

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

STEPS: Final = 20
RIDGE: Final = 1.0
DAMPING: Final = 0.5
"""Half a Newton step: the Hessian of a softmax is at most twice its diagonal, so no step overshoots."""
ERRORS_APART: Final = 2.0
_LEAST: Final = 1e-100
"""A model may be surer of a record than numbers can tell: then 0 over 0 is 0."""


def fitted_biases(outputs: Tensor, labels: Tensor, present: Tensor, *, exclusive: bool) -> Tensor:
    """b, [G, K], by damped diagonal Newton steps.

        b <- b - 1/2 (sum_i (p_i - y_i) + b) / (sum_i p_i (1 - p_i) + 1)

    with p_i = softmax(z_i + b) where labels are ``exclusive``, or sigmoid(z_i + b) where each is yes or no. ``outputs``
    and ``labels`` (0 or 1) are [G, n, K], ``present`` [G, n]. Records with the same outputs may stand as one, with the
    shares of their labels and their number in ``present``.
    """
    rows = present.to(torch.float64).unsqueeze(1)
    sums = _of_classes(outputs.double(), rows) if exclusive else _of_each(outputs.double(), rows)
    seen = (rows @ labels.double()).squeeze(1)
    bias = torch.zeros_like(seen)
    for _ in range(STEPS):
        expected, squares = sums(bias)
        bias = bias - DAMPING * (expected - seen + RIDGE * bias) / (expected - squares + RIDGE)
    return bias.to(outputs.dtype)


Sums = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From b to the sums of p_i and of p_i^2, [G, K] each."""


def _of_classes(outputs: Tensor, rows: Tensor) -> Sums:
    """With e_i = exp(z_i) taken once, p_i = e_i w / (e_i . w) at w = exp(b): what is left of a step are products."""
    e = (outputs - outputs.amax(2, keepdim=True)).exp()
    squared = e.square()

    def sums(bias: Tensor) -> tuple[Tensor, Tensor]:
        w = (bias - bias.amax(1, keepdim=True)).exp()
        shares = 1 / (e @ w.unsqueeze(2)).transpose(1, 2).clamp(min=_LEAST)
        return w * ((rows * shares) @ e).squeeze(1), w.square() * ((rows * shares.square()) @ squared).squeeze(1)

    return sums


def _of_each(outputs: Tensor, rows: Tensor) -> Sums:
    def sums(bias: Tensor) -> tuple[Tensor, Tensor]:
        p = torch.sigmoid(outputs + bias.unsqueeze(1))
        return (rows @ p).squeeze(1), (rows @ p.square()).squeeze(1)

    return sums


def clearly_positive(gain: Tensor, present: Tensor) -> Tensor:
    """Whether the mean of ``gain`` [G, n] over a site's rows exceeds two standard errors, [G]; not for a single row."""
    count = present.sum(1)
    mean = (gain * present).sum(1) / count.clamp(min=1)
    variance = ((gain - mean.unsqueeze(1)).square() * present).sum(1) / (count - 1).clamp(min=1)
    return (count > 1) & (mean > ERRORS_APART * (variance / count.clamp(min=1)).sqrt()) & (mean > 0)
