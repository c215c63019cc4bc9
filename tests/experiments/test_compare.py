"""Methods, datasets and seeds become cells, tuned where that was asked for."""

from collections.abc import Callable

from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.compare import Comparison, Request, compare
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.report.shown import Shown

SYNTHETIC = Task(dataset="synthetic")


def test_the_comparison_runs_with_what_was_chosen_under_the_method_s_own_name(
    tiny: Callable[..., Setting], runner: Runner, tried: list[Cell]
) -> None:
    request = Request(
        setting=tiny(seeds=2), tasks=(SYNTHETIC,), contenders=(Contender(method="fedprox"),), tuning_rounds=1
    )
    comparison = compare(request, runner)
    assert list(comparison.results) == [("synthetic", "fedprox")]
    final = [cell for cell in tried if cell.judged_on == "test"]
    assert [(cell.config.lr, cell.config.options["mu"], cell.config.rounds) for cell in final] == [(0.05, 1.0, 2)] * 2


def test_a_tuned_comparison_for_real(tiny: Callable[..., Setting], runner: Runner, calls: list[Cell]) -> None:
    request = Request(
        setting=tiny(rounds=1), tasks=(SYNTHETIC,), contenders=(Contender(method="fedavg"),), tuning_rounds=1
    )
    first, again = compare(request, runner), compare(request, runner)
    assert len(calls) == 10
    assert first == again


def test_placements_are_of_one_task_and_one_metric(
    tiny: Callable[..., Setting], result: Callable[..., CellResult]
) -> None:
    contenders = (Contender(method="fedavg"), Contender(method="sapefl"))
    request = Request(setting=tiny(), tasks=(SYNTHETIC,), contenders=contenders)
    results = {
        ("synthetic", "fedavg"): (result(0.5, 0.7, second=(0.9, 0.9)),),
        ("synthetic", "sapefl"): (result(0.6, 0.8, second=(0.2, 0.4)),),
    }
    comparison = Comparison(request=request, results=results, choices={})
    assert {label: one.rank for label, one in comparison.placements(SYNTHETIC, 0).items()} == {
        "fedavg": 2,
        "sapefl": 1,
    }
    assert comparison.placements(SYNTHETIC, 1)["fedavg"].estimate.mean == 0.9


def test_where_lower_is_better_the_lowest_is_first(
    tiny: Callable[..., Setting], result: Callable[..., CellResult]
) -> None:
    contenders = (Contender(method="fedavg"), Contender(method="sapefl"))
    request = Request(setting=tiny(), tasks=(SYNTHETIC,), contenders=contenders)
    error = (Shown(name="mae", title="MAE", higher_is_better=False),)
    results = {
        ("synthetic", "fedavg"): (result(5.0, 7.0, shown=error),),
        ("synthetic", "sapefl"): (result(6.0, 8.0, shown=error),),
    }
    placed = Comparison(request=request, results=results, choices={}).placements(SYNTHETIC, 0)
    assert (placed["fedavg"].rank, placed["sapefl"].rank) == (1, 2)
    assert placed["fedavg"].duel is not None
    assert placed["fedavg"].duel.difference == -1.0
