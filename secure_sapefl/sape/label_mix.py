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


def fitted_biases(outputs: Tensor, labels: Tensor, present: Tensor, mean: Callable[[Tensor], Tensor]) -> Tensor:
    """b, [G, K], by damped diagonal Newton steps.

        b <- b - 1/2 (sum_i (p_i - y_i) + b) / (sum_i p_i (1 - p_i) + 1),      p_i = mean(z_i + b)

    ``outputs`` and ``labels`` (0 or 1) are [G, n, K], ``present`` [G, n]; ``mean`` is softmax or, where labels are
    yes or no each, sigmoid.
    """
    rows, bias = present.unsqueeze(2), torch.zeros_like(outputs[:, 0])
    for _ in range(STEPS):
        p = mean(outputs + bias.unsqueeze(1))
        gradient = ((p - labels) * rows).sum(1) + RIDGE * bias
        bias = bias - DAMPING * gradient / ((p * (1 - p) * rows).sum(1) + RIDGE)
    return bias


def clearly_positive(gain: Tensor, present: Tensor) -> Tensor:
    """Whether the mean of ``gain`` [G, n] over a site's rows exceeds two standard errors, [G]; not for a single row."""
    count = present.sum(1)
    mean = (gain * present).sum(1) / count.clamp(min=1)
    variance = ((gain - mean.unsqueeze(1)).square() * present).sum(1) / (count - 1).clamp(min=1)
    return (count > 1) & (mean > ERRORS_APART * (variance / count.clamp(min=1)).sqrt()) & (mean > 0)
