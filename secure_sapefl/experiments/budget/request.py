"""What budget curves are asked for: methods under one or both kinds of noise, budgets, and learning rates for each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from secure_sapefl.algorithms.base import Homomorphic
from secure_sapefl.algorithms.own import algorithm
from secure_sapefl.algorithms.releases import NotPrivate, NotShared
from secure_sapefl.config import PrivacyUnit
from secure_sapefl.data import private_options
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.cells import Cell, JudgedOn
from secure_sapefl.experiments.setting import Contender, Setting, Task

NoiseKinds = Literal["local", "shared", "both"]
OFF: Final = math.inf
"""ε of a run without differential privacy."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How sites train: at a learning rate and, at home under shared noise, for so many epochs."""

    lr: float
    local_epochs: int | None = None

    def __str__(self) -> str:
        return f"{self.lr:g}" if self.local_epochs is None else f"{self.lr:g}, E = {self.local_epochs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A pace, and how it did on the rows it was chosen by."""

    pace: Pace
    validation: float  # by the task's main metric


Occasion = tuple[str, bool]
"""A contender's label, and whether it is private."""


@dataclass(frozen=True, kw_only=True)
class Request:
    setting: Setting
    task: Task
    contenders: tuple[Contender, ...]
    epsilons: tuple[float, ...]
    delta: float
    choices: Mapping[Occasion, Choice] = field(default_factory=dict)  # empty: everybody has the same pace

    @property
    def finite(self) -> tuple[float, ...]:
        return tuple(epsilon for epsilon in self.epsilons if epsilon != OFF)

    @property
    def unit(self) -> PrivacyUnit:
        """Whom the budgets protect."""
        return next((one.unit for one in self.contenders if one.shared_steps is not None), "record")

    def cell(
        self, contender: Contender, epsilon: float, seed: int, judged_on: JudgedOn = "test", trial: Pace | None = None
    ) -> Cell:
        """The pace is that of a ``trial``, or the one that was chosen, if any was."""
        choice = self.choices.get((contender.label, epsilon != OFF))
        pace = choice.pace if trial is None and choice is not None else trial
        chosen = contender if pace is None else replace(contender, lr=pace.lr, local_epochs=pace.local_epochs)
        if epsilon == OFF or releases_nothing(contender):  # no noise to share, or nothing to hide
            chosen, epsilon = replace(chosen, shared_steps=None), OFF
        return self.setting.cell(self.task_at(epsilon), chosen, seed, judged_on)

    def task_at(self, epsilon: float) -> Task:
        """Rows are divided and prepared alike at every budget, ∞ included: as a private study does it."""
        privacy = {} if epsilon == OFF else {"dp_epsilon": epsilon, "dp_delta": self.delta}
        prepared = {
            "dp_public": self.setting.base.dp_public or {},
            "data_options": {**private_options(self.task.dataset), **self.setting.base.data_options},
        }
        return Task(dataset=self.task.dataset, changes={**self.task.changes, **prepared, **privacy})

    def check(self) -> None:
        """Find every mistake before the first run."""
        if not self.epsilons:
            raise BadInput("--epsilons names no budget, for instance 0.5,1,2,4,8,inf.")
        if len(set(self.epsilons)) < len(self.epsilons):
            raise BadInput("--epsilons names one more than once.")
        for contender in self.contenders:
            method = algorithm(contender.method)
            if isinstance(method.releases, NotPrivate) and self.finite:
                raise BadInput(f"{method.title} has no differentially private form: {method.releases.reason}")
            for epsilon in self.epsilons:
                self.cell(contender, epsilon, self.setting.base.seed)


def releases_nothing(contender: Contender) -> bool:
    """Local-only, say: the same at every budget."""
    return algorithm(contender.method).homomorphic is Homomorphic.SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The kinds of noise that methods are run with, and whom it hides."""

    kinds: NoiseKinds = "local"
    steps: int = 100  # under shared noise
    unit: PrivacyUnit = "record"

    def __post_init__(self) -> None:
        if self.unit != "record" and self.kinds != "shared":
            raise BadInput(
                f"--dp-unit {self.unit} needs --dp-noise shared: a site's own noise hides its records one by one."
            )

    def applied(self, contenders: Sequence[Contender]) -> tuple[Contender, ...]:
        """Each method with its own noise, and behind them those that can share it with shared noise; who releases
        nothing as it is, once. Where noise is to be shared and nothing else, all have to be able to."""
        own = [one for one in contenders if self.kinds != "shared" or releases_nothing(one)]
        able = [one for one in contenders if self.kinds != "local" and not releases_nothing(one)]
        shared = []
        for one in able:
            method = algorithm(one.method)
            if not isinstance(method.from_common, NotShared):
                shared.append(replace(one, shared_steps=self.steps, unit=self.unit))
            elif self.kinds == "shared":
                why = f"{method.title} cannot use shared noise: {method.from_common.reason}"
                raise BadInput(f"{why} Leave it out, or give --dp-noise both: then it has its own noise.")
        return (*own, *shared)


def name_of(epsilon: float) -> str:
    return "∞" if epsilon == OFF else f"{epsilon:g}"


def parse_epsilons(text: str) -> tuple[float, ...]:
    """``0.5,1,inf``."""
    try:
        values = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadInput(f"--epsilons {text!r}: expected numbers by commas, for instance 0.5,1,2,4,8,inf.") from None
    if any(math.isnan(value) or value <= 0 for value in values):
        raise BadInput(f"--epsilons {text!r}: every budget is above 0; inf stands for no differential privacy.")
    return tuple(sorted(values))
