"""What inversion gives on this run: on a whole update as a party holds it, and on the easiest one there could be.

An attack that fails may be a bad attack. So the same code is also tried on a *control*: a step made of one row alone,
by the run's own training, clipped and noised where the run is private. And a row that is rebuilt is compared with as
many test rows of the site as training rows: what is as near to rows that were never used has rebuilt nothing.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.audit.inversion import Attack, Known, Rebuilt, invert, nearest
from secure_sapefl.audit.parties import Update
from secure_sapefl.config import Config
from secure_sapefl.data import ClientData
from secure_sapefl.models.base import Model
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.trainer import PrivateTrainer, SiteNoise
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Plan, Shard
from secure_sapefl.training.trainer import BatchedTrainer, Trainer

REBUILT: Final = 0.4
"""Below this relative error a row counts as rebuilt: an image is recognised, a table's values are about right."""
_CONTROLS: Final = 4
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilding:
    """Rows rebuilt from one site's update. ``nearer_to_members`` is one half by chance."""

    what: str
    rows: tuple[Rebuilt, ...]  # the best, to be shown
    errors: tuple[float, ...]
    nearer_to_members: float | None
    psnr: tuple[float, ...] | None  # of images, decibels

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "rebuilt": len(self.errors),
            "share_rebuilt": float(np.mean(np.array(self.errors) < REBUILT)),
            "error_best": float(min(self.errors)),
            "error_median": float(np.median(self.errors)),
            "psnr_best": None if self.psnr is None else float(max(self.psnr)),
            "psnr_median": None if self.psnr is None else float(np.median(self.psnr)),
            "nearer_to_members": self.nearer_to_members,
        }


def rebuild_from_update(update: Update, client: ClientData, known: Known, attack: Attack, seed: int) -> Rebuilding:
    """From a site's whole update, as it was sent."""
    step, public = (update.theta_local - update.theta_global)[None], known.x
    found = invert(known, update.theta_global, step, attack.images, attack, seed)[0]
    count = min(len(client.train), len(client.test))
    members, others = (torch.from_numpy(rows.X[:count]) for rows in (client.train, client.test))
    near = nearest(found, torch.from_numpy(client.train.X), public.mean(0))
    distances = [torch.cdist(found.flatten(1), rows.flatten(1)).min(1).values for rows in (members, others)]
    what = f"the update of {client.name}, {len(client.train)} rows, round {update.round_index + 1}"
    return _summed_up(what, near, public, float((distances[0] < distances[1]).float().mean()))


def rebuild_alone(
    client: ClientData,
    model: Model,
    known: Known,
    theta: Tensor,
    config: Config,
    noise: float | None,
    attack: Attack,
    seed: int,
) -> Rebuilding:
    """The control: each of a few rows alone in one step of ``model`` from ``theta``, with whatever it drops."""
    rows = torch.from_numpy(client.train.X[:_CONTROLS])
    labels = torch.from_numpy(client.train.y[:_CONTROLS])
    count = len(rows)
    share = 1.0 if noise is None else 1 / config.batch_size
    plan = Plan(torch.zeros((1, count, 1), dtype=torch.int64), torch.full((1, count, 1), share), (count,))
    keys = torch.arange(count) if model.draws else None
    shard = Shard(rows, labels, tuple(range(count)), (1,) * count, keys, known.task)
    start = theta.expand(count, -1)
    step = _trainer(model, config, noise, count, seed).train(start, shard, plan, LocalLoss(), config.lr) - start
    found = invert(known, theta, step, 1, attack, seed)
    near = [nearest(one, row[None], known.x.mean(0))[0] for one, row in zip(found, rows, strict=True)]
    return _summed_up("one row alone in one step (control)", near, known.x, None)


def _trainer(model: Model, config: Config, noise: float | None, count: int, seed: int) -> Trainer | PrivateTrainer:
    if noise is None:
        return BatchedTrainer(model)
    sources = [KeyedRandomness(np.random.default_rng([seed, 6, one])) for one in range(count)]
    deviation = noise * config.dp_clip / config.batch_size
    return PrivateTrainer(model, config.dp_clip, tuple(SiteNoise(deviation, source) for source in sources))


def _summed_up(what: str, near: list[Rebuilt], public: Tensor, nearer: float | None) -> Rebuilding:
    image = public.dim() == 4
    span = float(public.max() - public.min())
    return Rebuilding(
        what=what,
        rows=tuple(near[:_SHOWN]),
        errors=tuple(one.error for one in near),
        nearer_to_members=nearer,
        psnr=tuple(_psnr(one, span) for one in near) if image else None,
    )


def _psnr(one: Rebuilt, span: float) -> float:
    """10 log10(range^2 / mean squared error), at most 60: beyond that nobody sees a difference."""
    squared = float((one.rebuilt - one.true).square().mean())
    return min(60.0, 10 * float(np.log10(span**2 / max(squared, 1e-12))))
