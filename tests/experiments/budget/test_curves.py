"""Budget curves go on where they stopped, and say where the budget goes."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from secure_sapefl.experiments.budget.chart import chart
from secure_sapefl.experiments.budget.curves import Curves, budget_curves, document
from secure_sapefl.experiments.budget.request import OFF, Noise, NoiseKinds, Request
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.report.shown import Shown


def test_one_run_a_method_budget_and_seed_and_none_twice(curves: Curves, runner: Runner, calls: list[Cell]) -> None:
    assert len(calls) == 6
    budget_curves(curves.request, runner)
    assert len(calls) == 6


def test_the_document_has_every_number_and_where_the_budget_goes(curves: Curves) -> None:
    made = document(curves)
    accuracy, auc, weakest, gains, shares, noise = made.sheets
    assert gains.title == "Accuracy above local, points"
    assert gains.header == ("ε", "sapefl")
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


def test_gains_are_over_who_releases_nothing_site_by_site(
    request_for: Callable[..., Request], result: Callable[..., CellResult]
) -> None:
    request = request_for("fedavg", "local", epsilons=(8.0,))
    cells = {("fedavg", 8.0): (result(0.5, 0.75), result(0.5, 0.5)), ("local", 8.0): (result(0.25, 0.75),) * 2}
    (gains,) = (sheet for sheet in document(Curves(request=request, results=cells)).sheets if "above" in sheet.title)
    assert gains.rows == (("8", "+6.25 ± 8.84"),)


def test_a_task_with_one_metric_has_one_table_and_one_row_of_panels(
    request_for: Callable[..., Request], result: Callable[..., CellResult]
) -> None:
    request = request_for("fedavg", epsilons=(8.0, OFF))
    cell = result(0.5, 0.25, second=(), shown=(Shown(name="deviance", title="deviance", higher_is_better=False),))
    alone = Curves(request=request, results={("fedavg", epsilon): (cell,) for epsilon in request.epsilons})
    made = document(alone)
    assert made.title.startswith("Deviance against")
    titles = [sheet.title for sheet in made.sheets[:2]]
    assert titles == [f"Deviance{whose}, lower is better" for whose in ("", " of the weakest tenth of the sites")]
    assert (made.records[0]["deviance_mean"], made.records[0]["weakest_tenth_mean"]) == (0.375, 0.5)
    figure = Figure()
    chart(alone).draw(figure)
    assert [axes.get_ylabel() for axes in figure.axes] == ["deviance, lower is better"]


def test_curves_of_both_kinds_of_noise_side_by_side(request_for: Callable[..., Request], runner: Runner) -> None:
    asked = request_for("fedavg", epsilons=(8.0, OFF))
    base = asked.setting.base.model_copy(update={"clients": 5, "participation": 1.0})
    request = replace(
        asked,
        setting=replace(asked.setting, base=base, seeds=1),
        contenders=Noise(kinds="both", steps=3).applied(asked.contenders),
    )
    request.check()
    made = document(budget_curves(request, runner))
    assert made.sheets[0].header == ("ε", "fedavg", "fedavg, shared noise")
    assert made.sheets[-1].header[:4] == ("ε_shared", "m", "t", "ε_max")
    assert made.sheets[-1].rows[0][:3] == ("8", "5", "1")


@pytest.mark.parametrize(("kinds", "said"), [("local", 1), ("shared", 0)])
def test_small_sites_sit_out_of_runs_with_noise_of_their_own_alone(
    request_for: Callable[..., Request], result: Callable[..., CellResult], kinds: NoiseKinds, said: int
) -> None:
    asked = request_for("fedavg", "local", epsilons=(8.0,))
    base = asked.setting.base.model_copy(update={"clients": 5, "participation": 1.0, "batch_size": 10_000})
    contenders = Noise(kinds=kinds, steps=3).applied(asked.contenders)
    request = replace(asked, setting=replace(asked.setting, base=base, seeds=1), contenders=contenders)
    cells = {(one.label, 8.0): (result(0.5, 0.75),) for one in contenders}
    assert sum("sit out" in note for note in document(Curves(request=request, results=cells)).notes) == said
