"""A site's part of a step under shared noise: sampled, clipped, summed, rounded, noised.

    records i drawn independently with probability q
    round(sum_i clipped(g_i) / step) + round(N(0, (share * S / step)^2))        S = C + step sqrt(P)

Clipping is to a little less than C, which leaves room for what floating point does to a gradient. It must do nothing to
the sum: in float32 a sum over thousands of records that agree is wrong by more than one of them may move it. So it is
made in double precision, a few records at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.models.base import Model, joined
from secure_sapefl.models.keyed import derived
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.per_record import clipped_sum
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.privacy.shared.carriage import Carriage
from secure_sapefl.privacy.shared.grid import rounded, rounded_gaussian
from secure_sapefl.privacy.shared.persons import person_sum
from secure_sapefl.privacy.trainer import sampled_plan
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.plan import Plan, Shard
from secure_sapefl.training.trainer import STACK_BYTES, Trainer, batches, stacks

ROOM: Final = 1 - 2.0**-10
"""Of the clip, for records; the rest is for rounding errors of float32."""

_AT_A_TIME: Final = 64
"""Records of a site whose gradients are made together. Of a module clipped by norms alone (`modules/ghost.py`) they are
added up in float32, so few that it makes no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedGroup(PrivateGroup):
    """A group of sites that have paid for one step."""

    carriage: Carriage

    def gradient_sums(self, theta: Tensor, model: Model, shard: Shard) -> Tensor:
        """Each site's noised sum of clipped gradients at the common ``theta`` [P], as it leaves, [G, P]."""
        events, sources = self._charged()
        plan = sampled_plan(shard.sizes, events, sources, [1.0] * len(shard))
        exact = torch.cat(list(_sums(model, theta, shard, plan, ROOM * self.clip)))
        return self._noised(exact, events, sources)

    def person_sums(self, theta: Tensor, trainer: Trainer, shard: Shard) -> Tensor:
        """The same with one gradient a person, clipped as one."""
        events, sources = self._charged()
        exact = [
            person_sum(trainer, theta, shard, site, event.sample_rate, source, ROOM * self.clip)
            for site, (event, source) in enumerate(zip(events, sources, strict=True))
        ]
        return self._noised(torch.stack(exact), events, sources)

    def update_sums(self, updates: Tensor) -> Tensor:
        """Each site's whole update [G, P], clipped, or nothing of it, as its secret coin falls; noised all the same."""
        events, sources = self._charged()
        taken = [float(source.uniform(1)[0] < event.sample_rate) for source, event in zip(sources, events, strict=True)]
        longest = updates.norm(dim=1).clamp(min=ROOM * self.clip)
        factors = (updates.new_tensor(taken) * ROOM * self.clip / longest).nan_to_num(nan=0.0)
        return self._noised(updates.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) * factors.unsqueeze(1), events, sources)

    def _charged(self) -> tuple[list[Event], Sequence[Randomness]]:
        paid = self._payments(Purpose.SHARED_STEP)
        return [one.spend() for one in paid], self.randomness(Purpose.SHARED_STEP)

    def _noised(self, exact: Tensor, events: Sequence[Event], sources: Sequence[Randomness]) -> Tensor:
        """A share is as large as its payment says."""
        rows = []
        for row, event, source in zip(exact, events, sources, strict=True):
            in_steps = self.carriage.in_steps(row.double().cpu().numpy())
            deviation = self.carriage.deviation(event.noise_multiplier)
            rows.append(self.carriage.packed(rounded(in_steps) + rounded_gaussian(source, deviation, len(row))))
        return torch.from_numpy(np.stack(rows)).to(exact.device)


def _sums(model: Model, theta: Tensor, shard: Shard, plan: Plan, clip: float) -> Iterator[Tensor]:
    """sum_i clipped(g_i) of each site, a stack at a time; nobody's model is trained, so all share one."""
    for part in stacks(len(shard), model, STACK_BYTES if theta.device.type == "cpu" else None):
        for active, batch in batches(shard.narrow(part), plan.narrow(part)):
            weights = model.views(theta.expand(active, -1))
            total = torch.zeros((active, len(theta)), dtype=torch.float64, device=theta.device)
            for some in _few_at_a_time(batch):
                sums = clipped_sum(model, weights, some, LocalLoss(), clip)
                total += joined(sums)
            yield total


def _few_at_a_time(batch: Batch) -> Iterator[Batch]:
    """With weights, and so sums, in double precision. What a model draws for a record is drawn for each part anew."""
    for first in range(0, batch.x.shape[1], _AT_A_TIME):
        part = slice(first, first + _AT_A_TIME)
        x, y, rows, weight = (whole[:, part] for whole in (batch.x, batch.y, batch.rows, batch.weight))
        keys = None if batch.keys is None else derived(batch.keys, first)
        yield replace(batch, x=x, y=y, rows=rows, weight=weight.double(), keys=keys)
