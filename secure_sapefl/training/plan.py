"""Which rows go into which step: the mini-batches of a group of sites, drawn once, used by every engine.

Sites of a group stand in descending order of size, so the sites still training at any step are a *prefix* of the
group. A small site's steps end early; nobody computes on padding for it, and no partial batch is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.models.keyed import derived
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION


@dataclass(frozen=True, slots=True)
class Shard:
    """Training rows of a group of sites, one after another in ``x`` and ``y``; site g owns ``sizes[g]`` from
    ``starts[g]``."""

    x: Tensor
    y: Tensor
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    keys: Tensor | None = None  # int64 [G], for a model that draws while it trains
    task: Task = CLASSIFICATION  # what the labels are for
    persons: Tensor | None = None  # int64, whose each row is, where that is known

    def __len__(self) -> int:
        return len(self.sizes)

    def site(self, g: int) -> tuple[Tensor, Tensor]:
        rows = slice(self.starts[g], self.starts[g] + self.sizes[g])
        return self.x[rows], self.y[rows]

    def persons_of(self, g: int) -> Tensor:
        if self.persons is None:
            raise RuntimeError("Nobody has said whose these rows are.")
        return self.persons[self.starts[g] : self.starts[g] + self.sizes[g]]

    def narrow(self, sites: slice) -> "Shard":
        keys = None if self.keys is None else self.keys[sites]
        return replace(self, starts=self.starts[sites], sizes=self.sizes[sites], keys=keys)

    def only(self, sites: Sequence[int]) -> "Shard":
        keys = None if self.keys is None else self.keys[list(sites)]
        starts, sizes = (tuple(values[g] for g in sites) for values in (self.starts, self.sizes))
        return replace(self, starts=starts, sizes=sizes, keys=keys)

    def on(self, occasion: int) -> "Shard":
        """The same rows with keys of an occasion, such as an epoch: what is drawn on one is not drawn on another."""
        return self if self.keys is None else replace(self, keys=derived(self.keys, occasion))

    def step_keys(self, step: int, sites: slice) -> Tensor | None:
        return None if self.keys is None else derived(self.keys[sites], step)


@dataclass(frozen=True, slots=True)
class Plan:
    """``rows[t, g]``: the rows of site g (counted from its own first) in step t; ``weight`` is 1/b on the b rows of
    the batch and 0 on padding; the first ``active[t]`` sites take part in step t."""

    rows: Tensor  # int64 [T, G, B]
    weight: Tensor  # float32 [T, G, B]
    active: tuple[int, ...]

    def to(self, device: torch.device) -> "Plan":
        return Plan(self.rows.to(device), self.weight.to(device), self.active)

    def within(self, present: Sequence[int]) -> "Plan":
        """The same steps where sites have fewer rows than was planned for: a row that is not there leaves its share of
        the batch to the others."""
        there = (self.rows < torch.tensor(present).view(1, -1, 1)) & (self.weight > 0)
        weight = there / there.sum(2, keepdim=True).clamp(min=1)
        return Plan(self.rows * there, weight.to(self.weight.dtype), self.active)

    def narrow(self, sites: slice) -> "Plan":
        """The steps of some sites, as long as the first of them has any."""
        count = len(range(*sites.indices(self.rows.shape[1])))
        active = tuple(min(n - sites.start, count) for n in self.active if n > sites.start)
        return Plan(self.rows[: len(active), sites], self.weight[: len(active), sites], active)


def plan_batches(
    sizes: Sequence[int],
    streams: Sequence[np.random.Generator],
    *,
    epochs: int,
    batch_size: int,
    present: Sequence[int] | None = None,
) -> Plan:
    """``epochs`` passes over each site's rows in fresh random order, the last batch of a pass as short as it falls.

    Where sites have ``present`` rows and declared others (``sizes``), passes are as long as declared: over a random
    part of the rows, or with gaps.
    """
    if any(a < b for a, b in pairwise(sizes)):
        raise ValueError("a group of sites is planned largest first")
    per_epoch = [-(-size // batch_size) for size in sizes]
    steps = epochs * max(per_epoch, default=0)
    rows = np.zeros((steps, len(sizes), batch_size), dtype=np.int64)
    weight = np.zeros((steps, len(sizes), batch_size), dtype=np.float32)
    held = sizes if present is None else present
    for g, (size, own, count, rng) in enumerate(zip(sizes, held, per_epoch, streams, strict=True)):
        padded = np.zeros((epochs, count * batch_size), dtype=np.int64)
        padded[:, :size] = np.stack([rng.permutation(max(size, own))[:size] for _ in range(epochs)])
        share = np.zeros((count, batch_size), dtype=np.float32)
        share.reshape(-1)[:size] = 1.0
        share /= share.sum(axis=1, keepdims=True)
        rows[: epochs * count, g] = padded.reshape(epochs * count, batch_size)
        weight[: epochs * count, g] = np.tile(share, (epochs, 1))
    active = tuple(sum(epochs * count > t for count in per_epoch) for t in range(steps))
    plan = Plan(torch.from_numpy(rows), torch.from_numpy(weight), active)
    return plan if present is None else plan.within(present)
