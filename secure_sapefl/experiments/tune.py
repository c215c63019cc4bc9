"""Choosing each method's learning rate and main option on validation rows, with one seed and the same effort for all.

Successive halving (Jamieson and Talwalkar 2016): all trials have a part of the rounds, the better half has twice as
many, the better half of that has all. What is chosen was judged after all rounds, so that a setting that learns slowly
is not misjudged for it, unless it is among the worse half at first.

Validation rows are a fifth of each site's training rows. Test rows of the tuning seed are never looked at; where the
seed only divides a fixed dataset, rows judged here may be test rows under another seed, for every method alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

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


STAGES: Final = ((0.25, 9), (0.5, 4), (1.0, 2))
"""Parts of the rounds, and how many trials of a method are tried for so long."""


def tune(
    setting: Setting, tasks: Sequence[Task], contenders: Sequence[Contender], rounds: int, runner: Runner
) -> Mapping[Pair, Choice]:
    """The first seed of ``setting`` is the tuning seed; ``rounds`` may be fewer than the comparison's."""
    pairs = {(task.label, contender.label): (task, contender) for task in tasks for contender in contenders}
    grids = {pair: trials(contender.method, contender.options) for pair, (_, contender) in pairs.items()}
    left, judged = dict(grids), dict[Pair, list[tuple[float, Trial]]]()
    for part, most in STAGES:
        shorter = replace(setting, base=setting.base.model_copy(update={"rounds": max(1, round(part * rounds))}))
        cells = {pair: [_cell(shorter, *pairs[pair], trial) for trial in some[:most]] for pair, some in left.items()}
        results = runner.run((cell for some in cells.values() for cell in some), f"tuning at {part:.0%} of the rounds")
        judged = {pair: _best_first(left[pair], [results[cell.digest] for cell in cells[pair]]) for pair in pairs}
        left = {pair: tuple(trial for _, trial in ranked) for pair, ranked in judged.items()}
    return {
        pair: Choice(trial=ranked[0][1], validation=ranked[0][0], tried=len(grids[pair]))
        for pair, ranked in judged.items()
    }


def _cell(setting: Setting, task: Task, contender: Contender, trial: Trial) -> Cell:
    return setting.cell(task, contender.with_settings(trial.lr, trial.options), setting.base.seed, "validation")


def _best_first(tried: Sequence[Trial], results: Sequence[CellResult]) -> list[tuple[float, Trial]]:
    """Validation results and trials; of equally good ones the earlier first, those without a number last."""

    def oriented(result: CellResult) -> float:
        (value,) = result.shown[0].oriented((mean_of_defined(result.main),))
        return -math.inf if math.isnan(value) else value

    order = sorted(zip(tried, results, strict=False), key=lambda pair: -oriented(pair[1]))
    return [(mean_of_defined(result.main), trial) for trial, result in order]
