"""Gradient inversion: rows rebuilt from an update.

*Tables*, whose first layer is linear: the gradient of that layer's weights is a sum of d_i x_i^T and that of its bias
a sum of d_i, so every neuron's row divided by its bias is a weighted mean of the rows that moved it; of one row alone,
the row itself (Geiping et al. 2020, arXiv:2003.14053, Proposition 3.1).

*Images*: look for images whose gradient points where the update does, and which are smooth (Geiping et al., Eq. 4):

    minimise 1 - cos(gradient(x, y), -update) + tv * total variation(x),   signed gradients, Adam

Several starts and victims are worked on side by side. Classes are read off the last layer's bias (Zhao et al. 2020,
arXiv:2001.02610): it rises for the classes that were there. Labels of other tasks are looked for with the rows (Zhu et
al. 2019, arXiv:1906.08935). So are rows of tables and sequences whose model does not begin with one linear layer.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.data import Federation
from secure_sapefl.models.base import Model, joined
from secure_sapefl.tasks.base import Task

_TV: Final = 0.1
_RATE: Final = 0.3  # in standard deviations of a value
_PUBLIC: Final = 50  # test rows of a site


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """How hard to try with images."""

    steps: int = 600
    starts: int = 2
    images: int = 8  # looked for in an update of a whole site


@dataclass(frozen=True, slots=True)
class Known:
    """What an attacker knows beforehand: the model, what it is trained for, and records of the kind, from which only
    range and starting point are taken."""

    model: Model
    task: Task
    x: Tensor  # [n, ...]
    y: Tensor  # [n], or [n, columns] where labels are no classes

    @classmethod
    def from_federation(cls, model: Model, task: Task, federation: Federation) -> "Known":
        """Some of every site's test rows."""
        rows = [client.test for client in federation.clients]
        x, y = (torch.from_numpy(np.concatenate([getattr(one, part)[:_PUBLIC] for one in rows])) for part in "Xy")
        return cls(model, task, x, y)


def invert(known: Known, theta: Tensor, update: Tensor, count: int, attack: Attack, seed: int) -> Tensor:
    """Rows that could have made each ``update`` [V, P] of ``theta`` [P], ``count`` or more a victim: [V, n, ...]."""
    if _begins_linear(known, update):
        return _by_division(known, update)
    return _by_search(known, theta, update, count, attack, seed)


def _begins_linear(known: Known, update: Tensor) -> bool:
    """Whether the first weights are [V, out, in] and [V, out], of a layer that reads a whole row."""
    weight, bias = [*known.model.views(update), update][:2]
    return weight.dim() == 3 and bias.shape == weight.shape[:2] and weight.shape[2] == known.x[0].numel()


def _by_division(known: Known, update: Tensor) -> Tensor:
    """A row a neuron of the first layer; zero where the bias did not move."""
    weight, bias = known.model.views(update)[:2]
    moved = bias.abs() > 1e-12
    found = torch.where(moved.unsqueeze(2), weight / torch.where(moved, bias, 1).unsqueeze(2), 0)
    return found.view(*found.shape[:2], *known.x.shape[1:])


def labels_moved(model: Model, update: Tensor, count: int) -> Tensor:
    """``count`` labels a victim, each in proportion to how far its bias rose, [V, count]."""
    rise = model.views(update)[-1].clamp(min=0)
    if rise.shape != (len(update), model.classes):  # it does not end with a bias: one of each class in turn
        return (torch.arange(count) % model.classes).expand(len(update), -1)
    if count == 1:
        return rise.argmax(1, keepdim=True)
    shares = rise / rise.sum(1, keepdim=True).clamp(min=1e-12)
    places = (torch.arange(count, device=update.device) + 0.5) / count
    at: Tensor = torch.searchsorted(shares.cumsum(1), places.expand(len(update), -1).contiguous())
    return at.clamp(max=model.classes - 1)


def _by_search(known: Known, theta: Tensor, update: Tensor, count: int, attack: Attack, seed: int) -> Tensor:
    victims, starts, rows = len(update), attack.starts, known.x
    target = F.normalize(-update, dim=1).repeat_interleave(starts, 0)
    labels = _first_labels(known, update, count).repeat_interleave(starts, 0)
    weights = [view.requires_grad_() for view in known.model.views(theta.expand(len(target), -1).clone())]
    noise = torch.randn((len(target), count, *rows.shape[1:]), generator=torch.Generator().manual_seed(seed))
    x = (rows.mean(0) + rows.std() * noise).requires_grad_()
    sought = {x: rows} if known.task.labels == "class" else {x: rows, labels.requires_grad_(): known.y}
    optimizer = torch.optim.Adam([{"params": [one], "lr": _RATE * float(of.std())} for one, of in sought.items()])
    decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, [attack.steps // 2, attack.steps * 3 // 4], gamma=0.3)
    for _ in range(attack.steps):
        misses = 1 - _cosine(known, weights, x, labels, target)
        slopes = torch.autograd.grad((misses + _TV * _variation(x)).sum(), list(sought))
        for one, slope in zip(sought, slopes, strict=True):
            one.grad = slope.sign()
        optimizer.step()
        decay.step()
        with torch.no_grad():
            for one, of in sought.items():
                one.clamp_(of.min(), of.max())
    best = _cosine(known, weights, x, labels, target).detach().view(victims, starts).argmax(1)
    found: Tensor = x.detach().view(victims, starts, *x.shape[1:])[torch.arange(victims), best]
    return found


def _first_labels(known: Known, update: Tensor, count: int) -> Tensor:
    """Of classes the ones that stay; of other labels the average, to begin with."""
    if known.task.labels == "class":
        return labels_moved(known.model, update, count)
    return known.y.mean(0).expand(len(update), count, -1).clone()


def _cosine(known: Known, weights: list[Tensor], x: Tensor, labels: Tensor, target: Tensor) -> Tensor:
    """Between the gradient of each stack's rows and its target, [V * starts]."""
    loss = known.task.losses(known.model.apply(weights, x), labels).sum()
    gradients = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
    flat = joined(gradients)
    return (F.normalize(flat, dim=1) * target).sum(1)


def _variation(x: Tensor) -> Tensor:
    """Mean absolute difference of neighbouring pixels, [V * starts]; 0 where rows are no images."""
    if x.dim() < 5:
        return x.new_zeros(len(x))
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
