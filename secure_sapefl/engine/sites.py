"""Sites in this process: all of a simulated study, or the one of a deployed site. Their rows, what they keep, and how
they are put side by side.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.algorithms.group import Peers, SiteGroup
from secure_sapefl.data import Federation, Rows
from secure_sapefl.engine.device import make_trainer
from secure_sapefl.engine.optimizers import OptimizerMemory, schedule_of, step_rule
from secure_sapefl.engine.ranks import ALONE, Ranks
from secure_sapefl.engine.shares import Judged
from secure_sapefl.metrics import Array, Metric, Scores
from secure_sapefl.protocol.blueprint import Blueprint
from secure_sapefl.protocol.site import GroupRound
from secure_sapefl.stopwatch import Stopwatch
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.training.compiled import CompiledSteps
from secure_sapefl.training.optimizer import Moments
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer

Keep = Callable[[str, Tensor], object]
"""Told a site's name and the model [P] it was scored with."""


class Sites:
    """Rows live on the device; what sites keep lives in main memory and visits the device group by group."""

    def __init__(
        self,
        blueprint: Blueprint,
        federation: Federation,
        device: torch.device,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """``numbers`` are the sites' places on the study's roster, by which random streams count; all of them in
        order, unless only some of the study's sites are here."""
        self._schedule, self._rule = schedule_of(blueprint.config), step_rule(blueprint.config)
        self.memory = OptimizerMemory(len(federation.clients))
        self._task, self._labels = blueprint.task, federation.labels
        self._algorithm, self._options, self._config = blueprint.algorithm, blueprint.options, blueprint.config
        self._trainer, self._device = make_trainer(blueprint.config.engine, blueprint.model, device), device
        self._numbers = range(len(federation.clients)) if numbers is None else tuple(numbers)
        trains = [client.train for client in federation.clients]
        self.names = tuple(client.name for client in federation.clients)
        self.sizes, self.declared = tuple(len(rows) for rows in trains), federation.declared
        self._starts = tuple(int(s) for s in np.cumsum((0, *self.sizes))[:-1])
        label = trains[0].y
        nothing = np.zeros((1, *label.shape[1:]), label.dtype)
        nobody = Rows(np.zeros((1, *federation.shape), np.float32), nothing)  # where an empty site points
        self._x = torch.from_numpy(np.concatenate([rows.X for rows in (*trains, nobody)])).to(device)
        self._y = torch.from_numpy(np.concatenate([rows.y for rows in (*trains, nobody)])).to(device)
        whose = [rows.persons for rows in trains if rows.persons is not None]
        self._persons = torch.from_numpy(np.concatenate(whose)).to(device) if len(whose) == len(trains) else None
        self._tests = [(torch.from_numpy(c.test.X).to(device), c.test.y) for c in federation.clients]
        self._validation = [c.validation for c in federation.clients]
        self.theta_initial = blueprint.theta_initial.to(device)
        self.state = self._algorithm.initial_state(self.theta_initial.cpu(), len(self.names))

    @property
    def steps(self) -> str | None:
        """What became of them, where they were to be compiled."""
        if not isinstance(self._trainer, BatchedTrainer):
            return "as written: sites are trained one after another" if self._config.engine == "compiled" else None
        return self._trainer.step.told if isinstance(self._trainer.step, CompiledSteps) else None

    def groups(self, sites: Sequence[int], size: int) -> Iterator[list[int]]:
        """The sites largest first, ``size`` at a time: neighbours in a group take about as many steps."""
        return self._ordered(sites, size, self.declared)

    def _ordered(self, sites: Sequence[int], size: int, counts: Sequence[int]) -> Iterator[list[int]]:
        ordered = sorted(sites, key=lambda c: (-counts[c], c))
        for start in range(0, len(ordered), size):
            yield ordered[start : start + size]

    def group(
        self, sites: Sequence[int], theta_global: Tensor, round_index: int, peers: Peers, clock: Stopwatch
    ) -> SiteGroup:
        config, numbers = self._config, [self._numbers[c] for c in sites]
        return SiteGroup(
            theta_global=theta_global,
            theta_initial=self.theta_initial,
            state={name: rows[list(sites)].to(self._device) for name, rows in self.state.items()},
            peers=peers,
            shard=Shard(
                self._x,
                self._y,
                task=self._task,
                starts=tuple(self._starts[c] for c in sites),
                sizes=tuple(self.sizes[c] for c in sites),
                persons=self._persons,
            ),
            trainer=self._trainer,
            streams=lambda purpose: [stream(config.seed, purpose, round_index=round_index, site=n) for n in numbers],
            local_epochs=config.local_epochs,
            batch_size=config.batch_size,
            lr=self._schedule.rate(round_index),
            rule=self._rule,
            memory=self.memory.recalled(sites, self._device) if config.keep_optimizer else None,
            clock=clock,
        )

    def keep(self, sites: Sequence[int], result: GroupRound, memory: Mapping[Purpose, Moments] | None = None) -> None:
        """Store the new state of the sites whose round went well, and what their optimizers remember."""
        healthy = torch.from_numpy(result.healthy)
        rows = torch.tensor(sites)[healthy]
        for name, values in result.contribution.state.items():
            self.state[name][rows] = values.cpu()[healthy]
        self.memory.keep(rows, healthy, memory or {})

    def evaluate(
        self,
        theta_global: Tensor,
        round_index: int,
        size: int,
        keep: Keep | None = None,
        ranks: Ranks = ALONE,
        judged_by: Sequence[Metric] | None = None,
    ) -> tuple[Scores, Scores]:
        """Every site's own model, and the global one, on every site's test rows; ``keep`` is told each own model, and
        the global one is ``judged_by`` the task's metrics unless fewer are needed."""
        groups = list(self._ordered(range(len(self.names)), size, self.sizes))
        look = partial(self._looked_at, theta_global, round_index, kept=keep is not None)
        found = sorted(
            (row for group in ranks.map(look, groups, Judged) for row in group.rows()), key=lambda row: row[0]
        )
        for c, _, _, model in found:
            if keep is not None and model is not None:
                keep(self.names[c], model)
        own, common = [own for _, own, _, _ in found], [common for _, _, common, _ in found]
        return self.scores(own), Scores.from_outputs(common, self._task.metrics if judged_by is None else judged_by)

    def _looked_at(self, theta_global: Tensor, round_index: int, part: list[int], *, kept: bool) -> Judged:
        nobody = Peers.nobody(len(part), self.theta_initial)
        group = self.group(part, theta_global, round_index, nobody, Stopwatch())
        models = self._algorithm.personal_models(group, self._options)
        own = [self.on_test_rows(models[g], c) for g, c in enumerate(part)]
        common = [self.on_test_rows(theta_global, c) for c in part]
        return Judged(part, own, common, models.cpu() if kept else None)

    def scores(self, outputs: Sequence[tuple[Array, Array]]) -> Scores:
        return Scores.from_outputs(outputs, self._task.metrics)

    def validated(self, models: Mapping[str, Tensor]) -> float:
        """How models, by site, do on the training rows that were held back: the task's main metric, mean over sites."""
        outputs = [
            self._outputs(models[name], torch.from_numpy(rows.X).to(self._device), rows.y)
            for name, rows in zip(self.names, self._validation, strict=True)
            if rows is not None
        ]
        return Scores.from_outputs(outputs, self._task.metrics[:1]).main.mean

    def on_test_rows(self, theta: Tensor, site: int) -> tuple[Array, Array]:
        """What a model [P] says of a site's test rows, [n, outputs], and their labels; numbers in the label's units."""
        return self._outputs(theta, *self._tests[site])

    def _outputs(self, theta: Tensor, x: Tensor, y: Array) -> tuple[Array, Array]:
        """Outputs and labels, numbers in the label's units."""
        theta = theta.to(x.device)
        outputs = self._trainer.model.outputs(theta[None], x[None])[0].cpu().numpy()
        return self._labels.in_units(outputs), self._labels.in_units(y)
