"""Every task through the commands: run, killed and resumed, joined late, shown, compared, exported, published."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from safetensors import safe_open
from typer.testing import CliRunner

from secure_sapefl import Config, RoundClosed, RunEvent, simulate
from secure_sapefl.cli.app import app
from secure_sapefl.engine.published import PublishedModel
from secure_sapefl.report.charts.drawing import Chart

LABELS: dict[str, tuple[str, ...]] = {
    "classification": ("--label", "outcome"),
    "multilabel": ("--label", "cough,fever"),
    "regression": ("--label", "stay", "--task", "regression", "--data-option", "target=0,60"),
}
MAIN = {"classification": "accuracy", "multilabel": "accuracy", "regression": "mae"}
TINY = ("--group", "hospital", "--rounds", "2", "--local-epochs", "1", "--protection", "plaintext", "--model", "linear")
pytestmark = pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")


class Killed(BaseException):
    """As a signal is."""


def invoke(*arguments: str) -> Any:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


def write_table(path: Path, task: str) -> Path:
    """Four hospitals, in one of which things go the other way: one common model is worst."""
    rng, sizes = np.random.default_rng(0), {"amber": 40, "birch": 30, "cedar": 35, "elder": 30}
    names = LABELS[task][1]
    rows = [f"hospital,age,dose,{names}"]
    for hospital, size in sizes.items():
        sign = -1 if hospital == "birch" else 1
        for age, dose, chance in rng.normal(size=(size, 3)):
            labels = {
                "outcome": "ill" if sign * age > 0 else "well",
                "cough,fever": f"{'yes' if sign * age > 0 else 'no'},{'yes' if dose + chance > 0 else 'no'}",
                "stay": f"{30 + 8 * sign * np.clip(age, -3, 3):.2f}",
            }
            rows.append(f"{hospital},{age:.3f},{dose:.3f},{labels[names]}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Ran:
    task: str
    data: tuple[str, ...]  # options that name data and task
    run: Path
    summary: dict[str, Any]
    said: str

    @property
    def main(self) -> dict[str, Any]:
        found: dict[str, Any] = self.summary["metrics"][self.summary["main_metric"]]
        return found


def draw_only(chart: Chart, *_: object) -> str:
    chart.draw(Figure())
    return ""


@pytest.fixture(scope="module", params=LABELS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run with a late site; its page is drawn, not rendered."""
    task, folder = request.param, tmp_path_factory.mktemp(request.param)
    data = ("--dataset", str(write_table(folder / "patients.csv", task)), *LABELS[task])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secure_sapefl.report.view.to_svg", draw_only)
        patch.setattr("secure_sapefl.report.run_report.save_png", lambda *_: None)
        done = invoke("simulate", *data, *TINY, "--late-clients", "1", "--out", str(folder / "run"))
        invoke("report", str(folder / "run"), "--model-card", "--out", str(folder / "card.md"))
    summary = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    return Ran(task=task, data=data, run=folder / "run", summary=summary, said=done.stdout + done.stderr)


def test_every_number_says_which_way_is_better(ran: Ran) -> None:
    lower = {"mae", "rmse", "brier", "calibration_error"}
    assert (ran.summary["task"], ran.summary["main_metric"]) == (ran.task, MAIN[ran.task])
    for name, metric in ran.summary["metrics"].items():
        assert metric["higher_is_better"] == (name not in lower)
    for name in ("accuracy", "auc"):
        assert (ran.summary[name] is None) == (ran.task == "regression")


def test_pages_and_tables_say_so_too(ran: Ran) -> None:
    page, card = (ran.run / "report.html").read_text(), (ran.run.parent / "card.md").read_text()
    assert ran.main["title"] in card
    for text in (page, ran.said):
        assert ("ower is better" in text) == (ran.task == "regression")


def test_a_site_that_came_late_is_judged_by_the_same(ran: Ran) -> None:
    late = ran.summary["late_clients"]
    assert list(late["metrics"]) == list(ran.summary["metrics"])
    assert len(late["metrics"][MAIN[ran.task]]["per_client"]) == 1


def test_killed_and_resumed_it_ends_with_the_same_numbers(ran: Ran, tmp_path: Path) -> None:
    config = Config.model_validate({**_read(ran.run), "agreed": None})

    def kill(event: RunEvent) -> None:
        if isinstance(event, RoundClosed) and event.record.round_index == 0:
            raise Killed

    with pytest.raises(Killed):
        simulate(config, tmp_path / "again", observers=[kill])
    invoke("simulate", "--resume", str(tmp_path / "again"), "--quiet")
    again = json.loads((tmp_path / "again" / "summary.json").read_text(encoding="utf-8"))
    assert again["metrics"] == ran.summary["metrics"]


def _read(run: Path) -> dict[str, Any]:
    from secure_sapefl.engine.run_folder import config_of

    return config_of(run).model_dump()


def test_an_exported_model_says_what_it_was_judged_by(ran: Ran, tmp_path: Path) -> None:
    site = ran.summary["client_names"][0]
    invoke("export", str(ran.run), "--site", site, "--out", str(tmp_path / "m.safetensors"))
    with safe_open(tmp_path / "m.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["about"])
    assert about[f"test_{MAIN[ran.task]}"] == ran.main["per_client"][0]
    assert about["task"] == ran.task


def test_a_published_model_answers_in_the_tasks_own_terms(ran: Ran, tmp_path: Path) -> None:
    invoke("release", str(ran.run), "--out", str(tmp_path / "m.npz"))
    published = PublishedModel.read(tmp_path / "m.npz")
    answers = published.probabilities(np.zeros((3, *published.about["shape"])))
    low, high = (0, 60) if ran.task == "regression" else (0, 1)
    assert answers.shape == (3, 1 if ran.task == "regression" else 2)
    assert ((low <= answers) & (answers <= high)).all()


COMPARED = ("--methods", "local,fedavg", "--seeds", "1", "--jobs", "1", "--participation", "1", "--quiet")


@pytest.mark.parametrize("task", ["regression", pytest.param("multilabel", marks=pytest.mark.slow)])
def test_a_comparison_ranks_by_what_is_better(task: str, tmp_path: Path) -> None:
    """Alone is better where one hospital is unlike the others: less error, or more labels right."""
    data = ("--dataset", str(write_table(tmp_path / "p.csv", task)), *LABELS[task])
    often = (*TINY, "--local-epochs", "5", "--lr", "0.1")
    done = invoke("compare", *data, *often, *COMPARED, "--out", str(tmp_path / "out"), "--format", "json")
    document = json.loads(done.stdout)
    assert document["metrics"][MAIN[task]]["higher_is_better"] == (task != "regression")
    found = [one for one in document["records"] if one["metric"] == MAIN[task]]
    local, common = (next(one for one in found if one["method"] == method) for method in ("local", "fedavg"))
    assert (local["rank"], common["rank"]) == (1, 2)
    assert (local["mean"] < common["mean"]) == (task == "regression")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regression", "multilabel"])
def test_what_a_budget_costs_is_told_in_the_same_terms(task: str, tmp_path: Path) -> None:
    data = ("--dataset", str(write_table(tmp_path / "p.csv", task)), *LABELS[task])
    budget = ("--epsilons", "8,inf", "--delta", "1e-3", "--batch-size", "4")
    done = invoke("budget", *data, *TINY, *COMPARED, *budget, "--out", str(tmp_path / "out"), "--format", "json")
    document = json.loads(done.stdout)
    assert all(f"{MAIN[task]}_mean" in one for one in document["records"])
    assert document["metrics"][MAIN[task]]["higher_is_better"] == (task != "regression")
    assert ("lower is better" in (tmp_path / "out" / "budget.md").read_text()) == (task == "regression")
