"""Tuning chooses the best trial on validation rows, and the comparison then uses it."""

from collections.abc import Callable

import pytest

from secure_sapefl.experiments import runner as runner_module
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.compare import Request, compare
from secure_sapefl.experiments.grids import FINE_RATES
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.tune import tune

SYNTHETIC = Task(dataset="synthetic")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, result: Callable[..., CellResult]) -> list[Cell]:
    """Instead of training: best at a rate of 0.07 and a pull of 1."""
    cells: list[Cell] = []

    def made_up(cell: Cell) -> CellResult:
        cells.append(cell)
        distance = abs(cell.config.lr - 0.07) + 0.1 * abs(cell.config.options.get("mu", 1) - 1)
        return result(0.9 - distance)

    monkeypatch.setattr(runner_module, "run_cell", made_up)
    return cells


def test_the_best_trial_is_chosen_on_validation_rows_with_one_seed(
    tiny: Callable[..., Setting], runner: Runner, seen: list[Cell]
) -> None:
    contenders = [Contender(method="fedavg"), Contender(method="fedprox")]
    choices = tune(tiny(seeds=3, seed=5), [SYNTHETIC], contenders, rounds=1, runner=runner)
    plain, proximal = choices["synthetic", "fedavg"], choices["synthetic", "fedprox"]
    assert (plain.trial.lr, dict(plain.trial.options), plain.tried) == (0.07, {}, 9)
    assert (proximal.trial.lr, dict(proximal.trial.options), proximal.tried) == (0.05, {"mu": 1.0}, 9)
    assert plain.validation_accuracy == pytest.approx(0.9)
    assert {(cell.judged_on, cell.config.seed, cell.config.rounds) for cell in seen} == {("validation", 5, 1)}
    assert [cell.config.lr for cell in seen[:9]] == list(FINE_RATES)


def test_the_comparison_runs_with_what_was_chosen_under_the_method_s_own_name(
    tiny: Callable[..., Setting], runner: Runner, seen: list[Cell]
) -> None:
    request = Request(
        setting=tiny(seeds=2), tasks=(SYNTHETIC,), contenders=(Contender(method="fedprox"),), tuning_rounds=1
    )
    comparison = compare(request, runner)
    assert list(comparison.results) == [("synthetic", "fedprox")]
    final = [cell for cell in seen if cell.judged_on == "test"]
    assert [(cell.config.lr, cell.config.options["mu"], cell.config.rounds) for cell in final] == [(0.05, 1.0, 2)] * 2


def test_a_tuned_comparison_for_real(tiny: Callable[..., Setting], runner: Runner, calls: list[Cell]) -> None:
    request = Request(
        setting=tiny(rounds=1), tasks=(SYNTHETIC,), contenders=(Contender(method="fedavg"),), tuning_rounds=1
    )
    first, again = compare(request, runner), compare(request, runner)
    assert len(calls) == 10
    assert first == again
