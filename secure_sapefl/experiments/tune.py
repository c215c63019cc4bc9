"""Choosing each method's learning rate and main option on validation rows, with one seed and the same effort for all.

Validation rows are a fifth of each site's training rows. Test rows of the tuning seed are never looked at; where the
seed only divides a fixed dataset, rows judged here may be test rows under another seed, for every method alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.grids import Trial, trials
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.statistics import mean_of_defined


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What tuning found for one method on one task."""

    trial: Trial
    validation: float  # by the task's main metric
    tried: int

    def to_json(self) -> dict[str, Any]:
        return {
            "lr": self.trial.lr,
            "options": dict(self.trial.options),
            "validation": self.validation,
            "tried": self.tried,
        }


Pair = tuple[str, str]  # labels of a task and a contender


def tune(
    setting: Setting, tasks: Sequence[Task], contenders: Sequence[Contender], rounds: int, runner: Runner
) -> Mapping[Pair, Choice]:
    """The first seed of ``setting`` is the tuning seed; ``rounds`` may be fewer than the comparison's."""
    shorter = replace(setting, base=setting.base.model_copy(update={"rounds": rounds}))
    grid = {
        (task.label, contender.label): _trial_cells(shorter, task, contender)
        for task in tasks
        for contender in contenders
    }
    results = runner.run((cell for tried in grid.values() for _, cell in tried), "tuning")
    return {pair: _best(tried, results) for pair, tried in grid.items()}


def _trial_cells(setting: Setting, task: Task, contender: Contender) -> list[tuple[Trial, Cell]]:
    seed = setting.base.seed
    return [
        (trial, setting.cell(task, contender.with_settings(trial.lr, trial.options), seed, "validation"))
        for trial in trials(contender.method, contender.options)
    ]


def _best(tried: Sequence[tuple[Trial, Cell]], results: Mapping[str, CellResult]) -> Choice:
    """Of equally good trials the first; one without a number is none."""

    def oriented(pair: tuple[Trial, Cell]) -> float:
        result = results[pair[1].digest]
        (value,) = result.shown[0].oriented((mean_of_defined(result.main),))
        return -math.inf if math.isnan(value) else value

    trial, cell = max(tried, key=oriented)
    return Choice(trial=trial, validation=mean_of_defined(results[cell.digest].main), tried=len(tried))
