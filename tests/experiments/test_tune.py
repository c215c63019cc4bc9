"""Tuning chooses the best trial on validation rows, and the comparison then uses it."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments.cells import Cell
from secure_sapefl.experiments.grids import FINE_RATES
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.tune import tune

SYNTHETIC = Task(dataset="synthetic")


def test_the_best_trial_is_chosen_on_validation_rows_with_one_seed(
    tiny: Callable[..., Setting], runner: Runner, tried: list[Cell]
) -> None:
    contenders = [Contender(method="fedavg"), Contender(method="fedprox")]
    choices = tune(tiny(seeds=3, seed=5), [SYNTHETIC], contenders, rounds=1, runner=runner)
    plain, proximal = choices["synthetic", "fedavg"], choices["synthetic", "fedprox"]
    assert (plain.trial.lr, dict(plain.trial.options), plain.tried) == (0.07, {}, 9)
    assert (proximal.trial.lr, dict(proximal.trial.options), proximal.tried) == (0.05, {"mu": 1.0}, 9)
    assert plain.validation == pytest.approx(0.9)
    assert {(cell.judged_on, cell.config.seed, cell.config.rounds) for cell in tried} == {("validation", 5, 1)}
    assert [cell.config.lr for cell in tried[:9]] == list(FINE_RATES)
