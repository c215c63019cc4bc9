"""Budget curves vary the budget and nothing else, go on where they stopped, and say where the budget goes."""

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from secure_sapefl.algorithms.releases import NotPrivate
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments import budget
from secure_sapefl.experiments.budget import OFF, Curves, Request, budget_curves, document, parse_epsilons
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
    accuracy, auc, shares, noise = made.sheets
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
