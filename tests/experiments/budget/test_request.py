"""What is asked for varies the budget and nothing else, and mistakes are found before the first run."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.budget import request as budget_request
from secure_sapefl.experiments.budget.request import (
    OFF,
    Choice,
    Noise,
    Pace,
    Request,
    parse_epsilons,
)


def test_epsilons_are_read_sorted_and_inf_means_off() -> None:
    assert parse_epsilons("8, 0.5,inf,1") == (0.5, 1.0, 8.0, math.inf)


@pytest.mark.parametrize("text", ["0,1", "-1", "nan", "one", "1;2"])
def test_a_budget_that_is_none_is_a_sentence(text: str) -> None:
    with pytest.raises(BadInput, match="--epsilons"):
        parse_epsilons(text)


def test_cells_differ_in_the_budget_alone(request_for: Callable[..., Request]) -> None:
    request = request_for("fedavg")
    private, plain = (request.cell(request.contenders[0], epsilon, 0).config for epsilon in (2.0, OFF))
    assert (private.dp_epsilon, private.dp_delta) == (2.0, 1e-5)
    assert (plain.dp_epsilon, plain.dp_delta) == (None, None)
    assert private.model_copy(update={"dp_epsilon": None, "dp_delta": None}) == plain


@pytest.mark.parametrize(
    ("methods", "epsilons", "sentence"),
    [
        (("fedavg",), (), "names no budget"),
        (("fedavg",), (1.0, 1.0), "more than once"),
    ],
    ids=["none", "twice"],
)
def test_mistakes_are_found_before_the_first_run(
    request_for: Callable[..., Request], methods: tuple[str, ...], epsilons: tuple[float, ...], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        request_for(*methods, epsilons=epsilons).check()


@pytest.fixture
def fedavg_without_private_form(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = replace(budget_request.algorithm("fedavg"), releases=NotPrivate("nobody pays."))
    monkeypatch.setattr(budget_request, "algorithm", lambda _: refusing)


@pytest.mark.usefixtures("fedavg_without_private_form")
def test_a_method_without_a_private_form_runs_without_privacy_alone(request_for: Callable[..., Request]) -> None:
    request_for("fedavg", epsilons=(OFF,)).check()
    with pytest.raises(BadInput, match="no differentially private form: nobody pays"):
        request_for("fedavg", epsilons=(1.0, OFF)).check()


def test_shared_noise_stands_beside_each_method_that_can_share_and_beside_no_other(
    request_for: Callable[..., Request],
) -> None:
    asked = request_for("fedavg", "lcfed", "local").contenders
    both = Noise(kinds="both", steps=7).applied(asked)
    alone = Noise(kinds="shared", steps=7).applied(request_for("fedavg", "local").contenders)
    assert [one.label for one in both] == ["fedavg", "lcfed", "local", "fedavg, shared noise"]
    assert [one.label for one in alone] == ["local", "fedavg, shared noise"]
    assert Noise().applied(asked) == asked
    with pytest.raises(BadInput, match=r"LCFed cannot use shared noise: which cluster .* Leave it out, or give"):
        Noise(kinds="shared").applied(asked)


def test_shared_noise_is_one_step_a_round_and_without_a_budget_the_method_as_it_is(
    request_for: Callable[..., Request],
) -> None:
    request = request_for("fedavg")
    plain, shared = Noise(kinds="both", steps=7).applied(request.contenders)
    private = request.cell(shared, 2.0, 0).config
    assert (private.dp_noise, private.rounds, private.evaluate_every) == ("shared", 7, 7)
    assert request.cell(shared, OFF, 0).digest == request.cell(plain, OFF, 0).digest
    assert request.cell(plain, 2.0, 0).config.dp_noise == "local"


def test_who_releases_nothing_runs_once_for_all_budgets(request_for: Callable[..., Request]) -> None:
    request = request_for("local", "fedavg")
    local, fedavg = request.contenders
    assert request.cell(local, 2.0, 0).digest == request.cell(local, OFF, 0).digest
    assert request.cell(fedavg, 2.0, 0).digest != request.cell(fedavg, OFF, 0).digest


def test_persons_and_sites_are_hidden_by_shared_noise_alone(request_for: Callable[..., Request]) -> None:
    contenders = request_for("fedavg", "local").contenders
    hidden = Noise(kinds="shared", steps=7, unit="site").applied(contenders)
    assert [one.label for one in hidden] == ["local", "fedavg, shared noise"]
    request = replace(request_for("fedavg"), contenders=hidden)
    assert request.unit == "site"
    assert request.cell(hidden[1], 2.0, 0).config.dp_unit == "site"
    with pytest.raises(BadInput, match="--dp-unit site needs --dp-noise shared"):
        Noise(kinds="both", unit="site")


def test_chosen_rates_are_used_where_they_were_chosen(request_for: Callable[..., Request]) -> None:
    (fedavg,) = request_for("fedavg").contenders
    request = replace(request_for("fedavg"), choices={("fedavg", True): Choice(pace=Pace(0.2), validation=0.5)})
    assert request.cell(fedavg, 2.0, 0).config.lr == 0.2
    assert request.cell(fedavg, OFF, 0).config.lr == request.setting.base.lr
    assert request.cell(fedavg, 2.0, 0, trial=Pace(0.01)).config.lr == 0.01
