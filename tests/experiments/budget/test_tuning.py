"""Every method under every noise tries the same rates, on rows that are held back, and the trials have a price."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from secure_sapefl.experiments.budget.request import OFF, Choice, Noise, Pace, Request
from secure_sapefl.experiments.budget.tuning import RATES, paces, tuned, tuning_sheet
from secure_sapefl.experiments.cells import Cell
from secure_sapefl.experiments.common_models import common_of
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.report.shown import ACCURACY


def test_every_contender_tries_every_rate_at_the_middle_budget_and_at_none(
    request_for: Callable[..., Request], runner: Runner, tried: list[Cell]
) -> None:
    request = tuned(request_for("fedavg", "ditto", epsilons=(1.0, 2.0, 8.0, OFF), seeds=3), runner)
    assert {cell.judged_on for cell in tried} == {"validation"}
    assert {cell.config.seed for cell in tried} == {0}
    asked = [(cell.config.method, cell.config.dp_epsilon, cell.config.lr) for cell in tried]
    assert sorted(asked, key=str) == sorted(
        (
            (method, epsilon, lr)
            for method in ("fedavg", "ditto")
            for epsilon in (2.0, None, None)  # without privacy for a short and for a long time
            for lr in RATES
        ),
        key=str,
    )
    assert {choice.pace.lr for choice in request.choices.values()} == {0.05}, "the nearest to 0.07, which is best"
    assert set(request.choices) == {(name, private) for name in ("fedavg", "ditto") for private in (True, False)}


def test_a_budget_alone_is_tuned_alone(request_for: Callable[..., Request], runner: Runner, tried: list[Cell]) -> None:
    assert set(tuned(request_for("fedavg", epsilons=(2.0,)), runner).choices) == {("fedavg", True)}
    assert len(tried) == len(RATES)


@pytest.fixture
def chosen(request_for: Callable[..., Request]) -> Request:
    request = request_for("fedavg", "local")
    contenders = Noise(kinds="both", steps=40).applied(request.contenders)
    base = request.setting.base.model_copy(update={"batch_size": 2})
    choices = {
        (one.label, private): Choice(pace=Pace(0.05), validation=0.75)
        for one in contenders
        for private in (True, False)
    }
    return replace(request, setting=replace(request.setting, base=base), contenders=contenders, choices=choices)


def test_trials_have_a_price_by_kind_of_noise(chosen: Request) -> None:
    """Three more runs, or one more common model; nothing where nothing leaves."""
    sheet = tuning_sheet(chosen, ACCURACY, (40, 40, 40, 40, 40))
    assert sheet.header[1:4] == ("ε = 2: rate", "accuracy on rows held back", "ε, trials paid for")
    prices = {row[0]: row[3] for row in sheet.rows}
    assert prices["local"] == "–"
    assert 2 < float(prices["fedavg, shared noise"]) < float(prices["fedavg"]) < 8
    assert {row[1:3] for row in sheet.rows} == {("0.05", "75.00")}


def test_lines_that_others_are_read_against_have_all_the_time_they_need(chosen: Request) -> None:
    """Epochs of Local-only, and of methods without privacy, cost nothing."""
    alone, own, shared = sorted(chosen.contenders, key=lambda one: ("local", "fedavg").index(one.method))
    long_too = [Pace(rate, epochs) for epochs in (1, 5) for rate in RATES]
    assert paces(chosen, alone, 2.0) == paces(chosen, own, OFF) == paces(chosen, shared, OFF) == long_too


def test_under_shared_noise_sites_also_try_how_long_to_train_at_home(chosen: Request) -> None:
    """One epoch a round, three rounds: as long as in one, or as Local-only trains in all, at either of its paces."""
    one = replace(chosen, setting=replace(chosen.setting, base=chosen.setting.base.model_copy(update={"rounds": 3})))
    _alone, own, shared = sorted(one.contenders, key=lambda contender: ("local", "fedavg").index(contender.method))
    assert paces(one, own, 2.0) == [Pace(rate) for rate in RATES]
    assert paces(one, shared, 2.0) == [Pace(rate, epochs) for epochs in (1, 3, 15) for rate in RATES]
    trial = one.cell(shared, 2.0, 0, "validation", Pace(0.2, 3))
    assert (trial.config.lr, trial.config.local_epochs, trial.config.rounds) == (0.2, 3, 40)
    common, other = (common_of(one.cell(shared, 2.0, 0, "validation", pace)) for pace in (Pace(0.2, 3), Pace(0.05, 1)))
    assert common is not None
    assert other is not None
    assert common.digest == other.digest, "one common model for all trials"
