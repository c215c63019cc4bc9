"""What a method is given: a group of sites side by side, with all they have at hand in one round.

A deployed site is a group of one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.algorithms.releases import PrivateUse
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.streams import Purpose
from secure_sapefl.tasks.base import Task
from secure_sapefl.training.objective import Batch, LocalLoss, Objective, Proximal
from secure_sapefl.training.optimizer import PLAIN, Moments, Pace, Stepper, StepRule
from secure_sapefl.training.plan import Plan, Shard, plan_batches
from secure_sapefl.training.steps import PlainStep, Step
from secure_sapefl.training.trainer import Trainer, batches

_ROWS_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Peers:
    """Personal models a group received: ``received[g, j]`` says whether site g was given model j (never its own).

    Who was given what is known to the host, so the mask may stay in main memory while the models are on a device.
    """

    models: Tensor  # [J, P]
    received: Tensor  # bool [G, J]

    @classmethod
    def nobody(cls, sites: int, theta_initial: Tensor) -> "Peers":
        """No peer for anyone."""
        return cls(theta_initial[None], torch.zeros((sites, 1), dtype=torch.bool, device=theta_initial.device))

    def for_sites(self, sites: list[int]) -> "Peers":
        """The same models, as some of the sites were given them."""
        return Peers(self.models, self.received[sites])


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGroup:
    """Everything a group of sites, largest first by `counts`, has at hand in one round."""

    theta_global: Tensor  # [P], and behind it whatever else a method's sites hold in common
    theta_initial: Tensor  # [P], the weights everybody started from
    state: Mapping[str, Tensor]  # what sites keep between rounds, [G, ...]
    peers: Peers
    shard: Shard
    trainer: Trainer
    streams: Callable[[Purpose], list[np.random.Generator]]
    local_epochs: int
    batch_size: int
    lr: float
    clock: Stopwatch = field(default_factory=Stopwatch)
    rule: StepRule = PLAIN
    memory: dict[Purpose, Moments] | None = None  # of optimizers, where it is kept between rounds
    theta_smoothed: Tensor | None = None  # e, the mean of theta_global over rounds, where it is kept
    private: PrivateUse | None = None  # in a private study, the way to everything that leaves

    @property
    def task(self) -> Task:
        """What is learned of the rows."""
        return self.shard.task

    @property
    def size(self) -> int:
        return len(self.shard)

    @property
    def counts(self) -> tuple[int, ...]:
        """n_c as everybody may know it: what a site declares in a private study, its number of rows in any other."""
        return self.shard.sizes if self.private is None else self.private.rows

    @property
    def row_counts(self) -> Tensor:
        """n_c, [G]."""
        return torch.tensor(self.counts, dtype=torch.float32, device=self.theta_global.device)

    @property
    def longest(self) -> int:
        return max(1, *self.shard.sizes)

    def everywhere(self, theta: Tensor) -> Tensor:
        """One model [P] as the row of every site, [G, P], without a copy."""
        return theta.expand(self.size, -1)

    def train(
        self, theta: Tensor, objective: Objective, purpose: Purpose, epochs: int | None = None, *, leaves: bool = True
    ) -> Tensor:
        """E epochs of SGD on each site's own rows from ``theta`` [G, P].

        In a private study by DP-SGD, unless neither the result nor anything that follows from it ``leaves`` the site.
        """
        stepper = self._stepper(theta, purpose)
        if self.private is not None and leaves:
            pace = Pace(self.lr, stepper)
            return self.private.train(theta, self.trainer.model, self.rows_for(purpose), objective, purpose, pace)
        plan = self._plan(purpose, self.local_epochs if epochs is None else epochs)
        return self.trainer.train(theta, self.rows_for(purpose), plan, objective, self.lr, stepper)

    def train_averaged(self, theta: Tensor, objective: Objective, purpose: Purpose, epochs: int) -> Tensor:
        """Like `train`, but the mean of the models after each epoch of the second half: SGD's last step is a draw, the
        mean of many is closer to what it circles."""
        models = self._epochs(theta, objective, purpose, epochs)
        return torch.stack([model for epoch, model in enumerate(models) if epoch >= epochs // 2]).mean(0)

    def _epochs(self, theta: Tensor, objective: Objective, purpose: Purpose, epochs: int) -> Iterator[Tensor]:
        rows, stepper = self.rows_for(purpose), self._stepper(theta, purpose)
        if self.private is not None:
            model, pace = self.trainer.model, Pace(self.lr, stepper)
            yield from self.private.epochs(theta, model, rows, objective, purpose, pace, epochs)
            return
        streams = self.streams(purpose)
        for epoch in range(epochs):
            plan = plan_batches(self.counts, streams, epochs=1, batch_size=self.batch_size)
            theta = self.trainer.train(theta, rows.on(epoch), plan, objective, self.lr, stepper)
            yield theta

    def _stepper(self, theta: Tensor, purpose: Purpose) -> Stepper | None:
        """What takes the steps of a training: with what it remembers of earlier rounds, where that is kept."""
        if self.rule.is_plain or self.memory is None:
            return self.rule.begun(theta)
        return Stepper(self.rule, self.memory.setdefault(purpose, Moments.none_yet(theta)))

    def train_local(self) -> Tensor:
        """``theta_local``: a copy of the global model trained on the plain local loss."""
        return self.train(self.everywhere(self.theta_global), LocalLoss(), Purpose.LOCAL_BATCHES)

    def update_of_(self, theta_local: Tensor) -> Tensor:
        """theta_local - theta_G, in the place of models that are used for nothing else: a large group's second copy
        would be fresh memory, which costs more than the subtraction."""
        return theta_local.sub_(self.theta_global)

    def proximal(self, anchor: Tensor, strength: float) -> Proximal:
        """L_c + strength/2 * ||theta - anchor||^2, the same strength at every site."""
        return Proximal(anchor, torch.full((self.size,), strength, device=anchor.device))

    def steps(self, purpose: Purpose, epochs: int | None = None) -> Iterator[tuple[int, Batch]]:
        """The batches of E epochs one by one, for what stays at the site: (active sites, batch)."""
        return batches(self.rows_for(purpose), self._plan(purpose, self.local_epochs if epochs is None else epochs))

    def gradient_steps(self, purpose: Purpose, *, leaves: bool = True) -> Iterator[tuple[int, Step]]:
        """The steps of E epochs one by one, for methods that take them themselves: (active sites, step).

        In a private study a step answers with noise, unless nothing that follows from it ``leaves`` the site.
        """
        if self.private is not None and leaves:
            return self.private.steps(self.trainer.model, self.rows_for(purpose), purpose)
        return ((active, PlainStep(self.trainer, batch)) for active, batch in self.steps(purpose))

    def rows_for(self, purpose: Purpose) -> Shard:
        """The rows to train on, with keys for a model that draws while it trains."""
        if not self.trainer.model.draws:
            return self.shard
        keys = [int(rng.integers(1 << 62)) for rng in self.streams(Purpose.DROPOUT)]
        return replace(self.shard, keys=torch.tensor(keys, device=self.shard.x.device)).on(purpose)

    def _plan(self, purpose: Purpose, epochs: int) -> Plan:
        present = None if self.private is None else self.shard.sizes
        streams = self.streams(purpose)
        return plan_batches(self.counts, streams, epochs=epochs, batch_size=self.batch_size, present=present)

    @property
    def present(self) -> Tensor:
        """1 where a site has a row of that number, 0 past its last, [G, n]."""
        device = self.shard.x.device
        sizes = torch.tensor(self.shard.sizes, device=device).unsqueeze(1)
        return (torch.arange(self.longest, device=device) < sizes).float()

    @property
    def labels(self) -> Tensor:
        """Each site's labels in the order of its rows, [G, n] or [G, n, columns]; meaningless where `present` is 0."""
        device = self.shard.y.device
        starts, sizes = (
            torch.tensor(values, device=device).unsqueeze(1) for values in (self.shard.starts, self.shard.sizes)
        )
        last = (sizes - 1).clamp(min=0)
        return self.shard.y[starts + torch.minimum(torch.arange(self.longest, device=device), last)]

    @property
    def label_indicators(self) -> Tensor:
        """1 for the class of a row, or each label that is yes, [G, n, K]; meaningless where `present` is 0."""
        return F.one_hot(self.labels, self.trainer.model.classes) if self.task.labels == "class" else self.labels

    @property
    def label_counts(self) -> Tensor:
        """Rows of each class, or with each label that is yes, [G, K]."""
        return (self.label_indicators * self.present.unsqueeze(2)).sum(1)

    def features(self, bodies: Tensor) -> Tensor:
        """What each site's body makes of its own rows, [G, n, F]; meaningless where `present` is 0."""
        return replace(self, trainer=self.trainer.for_model(self.trainer.model.body)).outputs(bodies)

    def on_features(self, bodies: Tensor) -> "SiteGroup":
        """The same sites with features for rows and the head for a model: to train heads while bodies stand still."""
        features, sizes = self.features(bodies), self.shard.sizes
        starts = tuple(range(0, self.size * self.longest, self.longest))
        shard = replace(self.shard, x=features.flatten(0, 1), y=self.labels.flatten(0, 1), starts=starts, sizes=sizes)
        return replace(self, shard=shard, trainer=self.trainer.for_model(self.trainer.model.head))

    def outputs(self, theta: Tensor) -> Tensor:
        """f(theta_g, D_g), each site's model on all its own rows, [G, n, K]; meaningless where `present` is 0."""
        model = self.trainer.model
        answers = theta.new_zeros((self.size, self.longest, model.classes))
        for block, x in self.row_blocks():
            answers[: len(x), block] = model.outputs(theta[: len(x)], x)
        return answers

    def compared(self, theta: Tensor) -> Tensor:
        """The same, as vectors whose angles tell how alike two models answer."""
        return self.task.compared(self.outputs(theta))

    def row_blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """All rows, some at a time: their numbers, and x [A, m, ...] of the shortest prefix of the group that holds all
        sites with so many. So hardly anybody's rows are padded; past its last, a site repeats it."""
        shard, most, device = self.shard, self.longest, self.shard.x.device
        first_row = torch.tensor(shard.starts, device=device).unsqueeze(1)
        last_row = first_row + (torch.tensor(shard.sizes, device=device).unsqueeze(1) - 1).clamp(min=0)
        for start in range(0, most, _ROWS_AT_ONCE):
            active = max((g + 1 for g, size in enumerate(shard.sizes) if size > start), default=1)
            block = slice(start, min(start + _ROWS_AT_ONCE, most))
            numbers = torch.arange(block.start, block.stop, device=device)
            yield block, shard.x[torch.minimum(first_row[:active] + numbers, last_row[:active])]

    def first(self, count: int) -> "SiteGroup":
        """The largest ``count`` sites of the group."""
        return replace(
            self,
            state={name: rows[:count] for name, rows in self.state.items()},
            peers=Peers(self.peers.models, self.peers.received[:count]),
            shard=self.shard.narrow(slice(0, count)),
            streams=lambda purpose: self.streams(purpose)[:count],
        )

    def only(self, sites: list[int]) -> "SiteGroup":
        """Some sites of the group, in its order, with what they have at hand when nothing leaves them."""
        memory = None if self.memory is None else {purpose: one.only(sites) for purpose, one in self.memory.items()}
        return replace(
            self,
            state={name: rows[sites] for name, rows in self.state.items()},
            peers=self.peers.for_sites(sites),
            shard=self.shard.only(sites),
            streams=lambda purpose: [self.streams(purpose)[site] for site in sites],
            memory=memory,
            private=None,
        )

    def losses(self, theta: Tensor, shift: Tensor | float = 0.0) -> Tensor:
        """L_c(theta_c), the task's loss over all of each site's rows, [G]; ``shift`` is added to the outputs."""
        present = self.present
        if self.task.batch_loss is not None:
            return self.task.loss(self.outputs(theta) + shift, self.labels, present / present.sum(1, keepdim=True))
        return (self.record_losses(theta, shift) * present).sum(1) / present.sum(1)

    def record_losses(self, theta: Tensor, shift: Tensor | float = 0.0) -> Tensor:
        """The loss of every row, [G, n]; meaningless where `present` is 0."""
        return self.task.losses(self.outputs(theta) + shift, self.labels)

    def sample_rows(self, at_most: int, purpose: Purpose) -> tuple[Tensor, Tensor]:
        """Some rows of each site, all where it has no more, padded: x [G, m, ...] and present [G, m]."""
        m = min(at_most, max(self.shard.sizes))
        index = np.zeros((self.size, m), dtype=np.int64)
        present = np.zeros((self.size, m), dtype=np.float32)
        for g, (size, rng) in enumerate(zip(self.shard.sizes, self.streams(purpose), strict=True)):
            chosen = np.arange(size) if size <= m else rng.choice(size, m, replace=False)
            index[g, : len(chosen)] = chosen
            present[g, : len(chosen)] = 1
        device = self.shard.x.device
        first = torch.tensor(self.shard.starts, device=device).unsqueeze(1)
        return self.shard.x[torch.from_numpy(index).to(device) + first], torch.from_numpy(present).to(device)
