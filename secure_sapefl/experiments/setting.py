"""What an experiment varies: tasks (datasets, divided), contenders (methods with options) and seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.own import configured
from secure_sapefl.config import Config, PrivacyUnit
from secure_sapefl.data import DATASETS, Federation, Progress
from secure_sapefl.engine.assembly import task_of
from secure_sapefl.engine.privacy import warn_of_preparation
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.cells import Cell, JudgedOn, federation_for
from secure_sapefl.experiments.datafiles import data_digest
from secure_sapefl.models.base import Description, Model
from secure_sapefl.privacy.delta import warn_of_delta
from secure_sapefl.protocol.blueprint import check_task, check_training, started
from secure_sapefl.tasks.base import Task as LearningTask


@dataclass(frozen=True, kw_only=True)
class Task:
    """A dataset as one column of a table: ``changes`` to the common configuration, such as partition or kappa."""

    dataset: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        name = self.dataset if self.dataset in DATASETS else Path(self.dataset).name
        return f"{name} ({', '.join(str(value) for value in self.changes.values())})" if self.changes else name


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A method with options of its own; ``lr`` where it differs from the common one."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    lr: float | None = None
    local_epochs: int | None = None  # likewise
    shared_steps: int | None = None  # with shared noise, in so many steps
    unit: PrivacyUnit = "record"  # whom shared noise hides

    @property
    def label(self) -> str:
        name = ":".join((self.method, *(f"{key}={value}" for key, value in self.options.items())))
        return name if self.shared_steps is None else f"{name}, shared noise"

    @property
    def changes(self) -> dict[str, Any]:
        own = {"lr": self.lr, "local_epochs": self.local_epochs}
        pace = {name: value for name, value in own.items() if value is not None}
        return {"method": self.method, "options": dict(self.options), **pace, **self._shared}

    @property
    def _shared(self) -> dict[str, Any]:
        """A round is one step; models are evaluated after the last."""
        steps = self.shared_steps
        if steps is None:
            return {}
        return {"dp_noise": "shared", "dp_unit": self.unit, "rounds": steps, "evaluate_every": steps}

    def with_settings(self, lr: float, options: Mapping[str, Any]) -> "Contender":
        return replace(self, lr=lr, options={**self.options, **options})


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all cells of an experiment share."""

    base: Config
    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise BadInput(f"--seeds is {self.seeds}, expected at least 1.")

    @classmethod
    def from_values(cls, values: Mapping[str, Any], seeds: int) -> "Setting":
        """One thread and no helpers a run: cells are what runs side by side, and results do not depend on how many."""
        return cls(base=Config.read({**values, "threads": 1, "workers": 0}, "the command line"), seeds=seeds)

    @property
    def seed_values(self) -> range:
        return range(self.base.seed, self.base.seed + self.seeds)

    def cell(self, task: Task, contender: Contender, seed: int, judged_on: JudgedOn = "test") -> Cell:
        changes = {"dataset": task.dataset, "seed": seed, **task.changes, **contender.changes}
        config = Config.read(self.base.model_dump() | changes, f"{contender.label} on {task.label}")
        return Cell(config=config, data_digest=data_digest(config), judged_on=judged_on)


def check(setting: Setting, tasks: Sequence[Task], contenders: Sequence[Contender], progress: Progress) -> None:
    """Find every mistake before the first cell is run, and fetch what is missing once and not in every process."""
    _no_repeats("dataset", [task.label for task in tasks])
    _no_repeats("method", [contender.label for contender in contenders])
    methods = {contender.label: configured(contender.method, contender.options)[0] for contender in contenders}
    for task in tasks:
        cell = setting.cell(task, contenders[0], setting.base.seed)
        federation = federation_for(cell, progress)
        task_found = task_of(cell.config, federation).task
        about = Description(federation.shape, task_found.outputs(federation.classes), task_found.name)
        model = started(cell.config, about).model
        _all_fit(methods, partial(_fits, task_found, model, cell.config))
        _warn(cell.config, federation)


def _fits(task: LearningTask, model: Model, config: Config, method: Algorithm) -> None:
    check_task(task, method)
    check_training(model, method, config)


def _all_fit(methods: Mapping[str, Algorithm], fits: Callable[[Algorithm], None]) -> None:
    """Refuse those that cannot be run here, all at once, and name the others."""
    refused = {}
    for label, method in methods.items():
        try:
            fits(method)
        except BadInput as error:
            refused[label] = str(error)
    if refused:
        others = ",".join(label for label in methods if label not in refused)
        ask = f" Or compare the others: --methods {others}" if others else ""
        raise BadInput(" ".join(dict.fromkeys(refused.values())) + ask)


def _warn(config: Config, federation: Federation) -> None:
    """What is weak about a private experiment, once and here: its cells say nothing of it."""
    warn_of_preparation(config, learned=federation.learned)
    if config.dp_delta is not None:
        warn_of_delta(config.dp_delta, [len(client.train) for client in federation.clients])


def _no_repeats(kind: str, labels: Sequence[str]) -> None:
    if not labels:
        raise BadInput(f"No {kind} is named. Give at least one.")
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise BadInput(f"The {kind} {twice[0]!r} is named more than once.")
