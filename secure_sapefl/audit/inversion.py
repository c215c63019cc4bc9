"""Gradient inversion: rows rebuilt from an update.

*Tables*, whose first layer is linear: the gradient of that layer's weights is a sum of d_i x_i^T and that of its bias
a sum of d_i, so every neuron's row divided by its bias is a weighted mean of the rows that moved it; of one row alone,
the row itself (Geiping et al. 2020, arXiv:2003.14053, Proposition 3.1).

*Images*: look for images whose gradient points where the update does, and which are smooth (Geiping et al., Eq. 4):

    minimise 1 - cos(gradient(x, y), -update) + tv * total variation(x),   signed gradients, Adam

Several starts and victims are worked on side by side. Labels are read off the last layer's bias (Zhao et al. 2020,
arXiv:2001.02610): it rises for the labels that were there.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.models.base import Model

_TV: Final = 0.1
_RATE: Final = 0.3  # in standard deviations of a pixel


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """How hard to try with images."""

    steps: int = 600
    starts: int = 2
    images: int = 8  # looked for in an update of a whole site


def invert(model: Model, theta: Tensor, update: Tensor, rows: Tensor, count: int, attack: Attack, seed: int) -> Tensor:
    """Rows that could have made each ``update`` [V, P] of ``theta`` [P], ``count`` or more a victim: [V, n, ...].

    ``rows`` are public examples of the kind, from which only range and starting point are taken.
    """
    if model.views(update)[0].dim() == 3:  # a linear layer comes first: [V, out, in]
        return _by_division(model, update)
    return _by_search(model, theta, update, rows, count, attack, seed)


def _by_division(model: Model, update: Tensor) -> Tensor:
    """A row a neuron of the first layer; zero where the bias did not move."""
    weight, bias = model.views(update)[:2]
    moved = bias.abs() > 1e-12
    return torch.where(moved.unsqueeze(2), weight / torch.where(moved, bias, 1).unsqueeze(2), 0)


def labels_moved(model: Model, update: Tensor, count: int) -> Tensor:
    """``count`` labels a victim, each in proportion to how far its bias rose, [V, count]."""
    rise = model.views(update)[-1].clamp(min=0)
    if count == 1:
        return rise.argmax(1, keepdim=True)
    shares = rise / rise.sum(1, keepdim=True).clamp(min=1e-12)
    places = (torch.arange(count, device=update.device) + 0.5) / count
    at: Tensor = torch.searchsorted(shares.cumsum(1), places.expand(len(update), -1).contiguous())
    return at.clamp(max=model.classes - 1)


def _by_search(
    model: Model, theta: Tensor, update: Tensor, rows: Tensor, count: int, attack: Attack, seed: int
) -> Tensor:
    victims, starts = len(update), attack.starts
    target = F.normalize(-update, dim=1).repeat_interleave(starts, 0)
    labels = labels_moved(model, update, count).repeat_interleave(starts, 0)
    weights = [view.requires_grad_() for view in model.views(theta.expand(len(target), -1).clone())]
    noise = torch.randn((len(target), count, *rows.shape[1:]), generator=torch.Generator().manual_seed(seed))
    x = (rows.mean(0) + rows.std() * noise).requires_grad_()
    optimizer = torch.optim.Adam([x], lr=_RATE * float(rows.std()))
    decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, [attack.steps // 2, attack.steps * 3 // 4], gamma=0.3)
    low, high = rows.min(), rows.max()
    for _ in range(attack.steps):
        misses = 1 - _cosine(model, weights, x, labels, target)
        (x.grad,) = torch.autograd.grad((misses + _TV * _variation(x)).sum(), x)
        x.grad.sign_()
        optimizer.step()
        decay.step()
        with torch.no_grad():
            x.clamp_(low, high)
    best = _cosine(model, weights, x, labels, target).detach().view(victims, starts).argmax(1)
    found: Tensor = x.detach().view(victims, starts, *x.shape[1:])[torch.arange(victims), best]
    return found


def _cosine(model: Model, weights: list[Tensor], x: Tensor, labels: Tensor, target: Tensor) -> Tensor:
    """Between the gradient of each stack's images and its target, [V * starts]."""
    logits = model.apply(weights, x)
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    gradients = torch.autograd.grad(loss, weights, create_graph=True)
    flat = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
    return (F.normalize(flat, dim=1) * target).sum(1)


def _variation(x: Tensor) -> Tensor:
    """Mean absolute difference of neighbouring pixels, [V * starts]."""
    across, down = x.diff(dim=-1).abs().flatten(1).mean(1), x.diff(dim=-2).abs().flatten(1).mean(1)
    return across + down


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A row that was rebuilt, beside the true row it is nearest to."""

    rebuilt: Tensor
    true: Tensor
    error: float  # distance in units of that row's distance from the average row: 1 is as good as knowing the average


def nearest(rebuilt: Tensor, rows: Tensor, average: Tensor) -> list[Rebuilt]:
    """Each rebuilt row [n, ...] with its nearest among ``rows`` [m, ...], the best first."""
    flat, true = rebuilt.flatten(1), rows.flatten(1)
    relative = torch.cdist(flat, true) / (true - average.flatten()).norm(dim=1).clamp(min=1e-12)
    errors, at = relative.min(1)
    order = np.argsort(errors.numpy(), kind="stable")
    return [Rebuilt(rebuilt[i], rows[at[i]], float(errors[i])) for i in order]
