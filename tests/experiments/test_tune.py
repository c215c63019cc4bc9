"""Tuning chooses the best trial on validation rows, and the comparison then uses it."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments.cells import Cell, CellResult
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


def test_a_trial_that_learns_slowly_is_judged_after_all_rounds(
    tiny: Callable[..., Setting], runner: Runner, result: Callable[..., CellResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small rates are behind at first and ahead in the end; those that are far behind do not get so far."""
    cells: list[Cell] = []

    def made_up(cell: Cell) -> CellResult:
        cells.append(cell)
        fast = 1.0 if cell.config.rounds < 20 else -1.0
        return result(0.5 + fast * cell.config.lr)

    monkeypatch.setattr("secure_sapefl.experiments.runner.run_cell", made_up)
    choice = tune(tiny(), [SYNTHETIC], [Contender(method="fedavg")], rounds=20, runner=runner)["synthetic", "fedavg"]
    by_rounds = {
        rounds: sorted(one.config.lr for one in cells if one.config.rounds == rounds) for rounds in (5, 10, 20)
    }
    assert by_rounds == {5: list(FINE_RATES), 10: list(FINE_RATES[-4:]), 20: list(FINE_RATES[-2:])}
    assert (choice.trial.lr, choice.validation, choice.tried) == (0.14, pytest.approx(0.36), 9)
