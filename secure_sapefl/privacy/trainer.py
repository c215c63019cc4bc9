"""DP-SGD (Abadi et al. 2016, arXiv:1607.00133) for a stack of sites, around the split objective.

A step of site c, with sampling rate q, noise multiplier s and clip C:

    records i drawn independently with probability q
    theta <- theta - lr * ( (sum_i clipped(g_i) + s C N(0, I)) / (q n_c)  +  gradient of the data-free part )

The data-free part, the pull of the anchors' weights, reads no record: it is added after clipping and noise. Put into
the loss instead, it would be lost in Opacus' hooks, which keep only what flows through a layer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.per_record import clipped_sum
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.training.objective import Objective
from secure_sapefl.training.optimizer import Pace, Stepper
from secure_sapefl.training.plan import Plan, Shard
from secure_sapefl.training.trainer import STACK_BYTES, batches, stacks, whole_gradient

_NOISE_AT_A_TIME = 1 << 15  # numbers: drawn, scaled and added while they are in cache


def epochs_privately(
    paid: Sequence[Paid],
    randomness: Sequence[Randomness],
    model: Model,
    clip: float,
    theta: Tensor,
    shard: Shard,
    rows: Sequence[int],
    objective: Objective,
    pace: Pace,
    epochs: int,
) -> Iterator[Tensor]:
    """The weights [G, P] after each of ``epochs`` equal parts of the steps that were paid for: number, rate and noise
    are those of the payment, ``rows`` is what sites declare, n_c. DP-SGD accounts for every iterate, so all of them may
    be released, and any mean of them."""
    events = [_part(one.spend(), epochs) for one in paid]
    trainer = PrivateTrainer(model, clip, noises(events, randomness, rows, clip))
    for epoch in range(epochs):
        plan = poisson_plan(shard.sizes, rows, events, randomness)
        theta = trainer.train(theta, shard.on(epoch), plan, objective, pace.lr, pace.stepper)
        yield theta


def _part(event: Event, parts: int) -> Event:
    if event.steps % parts:
        raise RuntimeError(f"{event.steps} steps were paid for; they do not fall into {parts} epochs.")
    return replace(event, steps=event.steps // parts)


def noises(
    events: Sequence[Event], randomness: Sequence[Randomness], rows: Sequence[int], clip: float
) -> tuple["SiteNoise", ...]:
    """s C / (q n) beside each site's mean gradient."""
    return tuple(
        SiteNoise(event.noise_multiplier * clip / (event.sample_rate * count), source)
        for event, count, source in zip(events, rows, randomness, strict=True)
    )


def poisson_plan(
    sizes: Sequence[int], declared: Sequence[int], events: Sequence[Event], randomness: Sequence[Randomness]
) -> Plan:
    """Every record of a site in a step with probability q, by itself: batches vary in size and may be empty.

    A row's weight is 1 / (q n), from the batch that is expected by the ``declared`` n: the size of the one drawn is
    private, and so is the number of records (``sizes``) it is drawn from.
    """
    weights = [1 / (event.sample_rate * count) for event, count in zip(events, declared, strict=True)]
    return sampled_plan(sizes, events, randomness, weights)


def sampled_plan(
    sizes: Sequence[int], events: Sequence[Event], randomness: Sequence[Randomness], weights: Sequence[float]
) -> Plan:
    """The same with a weight for each site that a row counts with."""
    steps = [event.steps for event in events]
    if any(a < b for a, b in pairwise(steps)):
        raise ValueError("a group of sites is planned largest first")
    drawn = [
        np.stack([source.uniform(size) < event.sample_rate for _ in range(event.steps)])
        for size, event, source in zip(sizes, events, randomness, strict=True)
    ]
    widest = max(1, *(int(taken.sum(1).max()) for taken in drawn))
    rows = np.zeros((max(steps), len(sizes), widest), dtype=np.int64)
    weight = np.zeros(rows.shape, dtype=np.float32)
    for g, (taken, counts) in enumerate(zip(drawn, weights, strict=True)):
        step, row = np.nonzero(taken)
        place = taken.cumsum(1)[step, row] - 1
        rows[step, g, place] = row
        weight[step, g, place] = counts
    active = tuple(sum(count > t for count in steps) for t in range(max(steps)))
    return Plan(torch.from_numpy(rows), torch.from_numpy(weight), active)


@dataclass(frozen=True, slots=True)
class SiteNoise:
    """The noise of one site's steps: its standard deviation beside the mean gradient, and where it is drawn."""

    deviation: float
    randomness: Randomness

    def add_(self, theta: Tensor, buffer: Tensor, lr: float) -> None:
        """theta <- theta - lr * noise, a cache's worth at a time."""
        for part in theta.split(len(buffer)):
            drawn = buffer[: len(part)]
            self.randomness.normal_(drawn)
            part.add_(drawn, alpha=-lr * self.deviation)


@dataclass(frozen=True, slots=True)
class PrivateTrainer:
    """A stack of sites side by side, like `BatchedTrainer`; every step clipped and noised."""

    model: Model
    clip: float
    noise: tuple[SiteNoise, ...]

    def train(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None = None
    ) -> Tensor:
        theta = theta.clone(memory_format=torch.contiguous_format)
        plan = plan.to(theta.device)
        for part in stacks(len(theta), self.model, STACK_BYTES if theta.device.type == "cpu" else None):
            own = PrivateTrainer(self.model, self.clip, self.noise[part])
            steps = None if stepper is None else stepper.narrow(part)
            # of this class
            own._train_stack(theta[part], shard.narrow(part), plan.narrow(part), objective.narrow(part), lr, steps)
        return theta

    def _train_stack(
        self, theta: Tensor, shard: Shard, plan: Plan, objective: Objective, lr: float, stepper: Stepper | None
    ) -> None:
        buffer = theta.new_empty(min(_NOISE_AT_A_TIME, theta.shape[1]))
        for active, batch in batches(shard, plan):
            stack, part = theta[:active], objective.narrow(slice(0, active))
            weights = self.model.views(stack)
            gradients = clipped_sum(self.model, weights, batch, part, self.clip)
            if stepper is not None:
                noised = whole_gradient(stack, gradients, part.weight_pull(stack))
                self._add_noise(noised, buffer, -1.0)
                stepper.narrow(slice(0, active)).step_(stack, noised, lr)
                continue
            if (pull := part.weight_pull(stack)) is not None:
                pull.step_(stack, lr)
            torch._foreach_add_(weights, gradients, alpha=-lr)  # as in training/descent.py
            self._add_noise(stack, buffer, lr)

    def _add_noise(self, rows: Tensor, buffer: Tensor, lr: float) -> None:
        """rows <- rows - lr * noise, of the sites that are active."""
        for row, noise in zip(rows, self.noise, strict=False):  # the first so many sites
            noise.add_(row, buffer, lr)
