"""Budget curves vary the budget and nothing else, go on where they stopped, and say where the budget goes."""

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments import budget
from secure_sapefl.experiments.budget import (
    OFF,
    Curves,
    Request,
    budget_curves,
    document,
    parse_epsilons,
    with_shared_noise,
)
from secure_sapefl.experiments.cells import Cell
from secure_sapefl.experiments.runner import Runner


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
    refusing = replace(budget.algorithm("fedavg"), releases=NotPrivate("nobody pays."))
    monkeypatch.setattr(budget, "algorithm", lambda _: refusing)


@pytest.mark.usefixtures("fedavg_without_private_form")
def test_a_method_without_a_private_form_runs_without_privacy_alone(request_for: Callable[..., Request]) -> None:
    request_for("fedavg", epsilons=(OFF,)).check()
    with pytest.raises(BadInput, match="no differentially private form: nobody pays"):
        request_for("fedavg", epsilons=(1.0, OFF)).check()


def test_one_run_a_method_budget_and_seed_and_none_twice(curves: Curves, runner: Runner, calls: list[Cell]) -> None:
    assert len(calls) == 8
    budget_curves(curves.request, runner)
    assert len(calls) == 8


def test_the_document_has_every_number_and_where_the_budget_goes(curves: Curves) -> None:
    made = document(curves)
    accuracy, auc, weakest, shares, noise = made.sheets
    assert weakest.title == "Accuracy of the weakest tenth of the sites, %"
    assert [row[0] for row in accuracy.rows] == [row[0] for row in auc.rows] == ["2", "∞"]
    assert accuracy.header == ("ε", "sapefl", "local")
    assert [record["epsilon"] for record in made.records] == [2.0, None, 2.0, None]
    assert shares.header[3:] == ("update", "theta_personal", "similarities for similarity_score")
    assert sum(int(part.rstrip("%")) for part in shares.rows[0][3:]) == pytest.approx(100, abs=2)
    assert noise.header == ("ε", "all 1 peers")
    assert json.loads(json.dumps(made.to_json()))["delta"] == 1e-5
    assert made.to_csv().count("\n") == 5
    local = [record for record in made.records if record["method"] == "local"]
    assert local[0]["accuracy_mean"] == local[1]["accuracy_mean"], "nothing leaves: no noise at any budget"


def test_shared_noise_stands_beside_each_method_that_can_share_and_beside_no_other(
    request_for: Callable[..., Request],
) -> None:
    contenders = with_shared_noise(request_for("fedavg", "lcfed", "local").contenders, 7)
    assert [one.label for one in contenders] == ["fedavg", "lcfed", "local", "fedavg, shared noise"]
    assert with_shared_noise(contenders, None) == contenders


def test_shared_noise_is_one_step_a_round_and_without_a_budget_the_method_as_it_is(
    request_for: Callable[..., Request],
) -> None:
    request = request_for("fedavg")
    plain, shared = with_shared_noise(request.contenders, 7)
    private = request.cell(shared, 2.0, 0).config
    assert (private.dp_noise, private.rounds, private.evaluate_every) == ("shared", 7, 7)
    assert request.cell(shared, OFF, 0).digest == request.cell(plain, OFF, 0).digest
    assert request.cell(plain, 2.0, 0).config.dp_noise == "local"


def test_curves_of_both_kinds_of_noise_side_by_side(request_for: Callable[..., Request], runner: Runner) -> None:
    asked = request_for("fedavg", epsilons=(8.0, OFF))
    base = asked.setting.base.model_copy(update={"clients": 5, "participation": 1.0})
    request = replace(
        asked,
        setting=replace(asked.setting, base=base, seeds=1),
        contenders=with_shared_noise(asked.contenders, 3),
    )
    request.check()
    made = document(budget_curves(request, runner))
    assert made.sheets[0].header == ("ε", "fedavg", "fedavg, shared noise")
    assert made.sheets[-1].header[:4] == ("ε_shared", "m", "t", "ε_max")
    assert made.sheets[-1].rows[0][:3] == ("8", "5", "1")
