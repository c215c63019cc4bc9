"""Runs that add up over days: what a study found is kept in few bytes, and taken for finished elsewhere."""

import json
import shlex
import shutil
from pathlib import Path

import evidence
import evidence_budget
import pytest
import typer
from evidence import STUDIES, Study
from evidence_choices import CHOICES
from evidence_kept import MARKS
from evidence_page import SECTIONS

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.cli.app import app
from secure_sapefl.experiments.cells import CellStore
from secure_sapefl.experiments.compare import Request, compare
from secure_sapefl.experiments.executors.processes import Processes
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from tests.unrendered import unrendered

__all__ = ["unrendered"]
STUDY = Study(name="tiny", arguments="--dataset synthetic")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("KEPT", "WORK"):
        monkeypatch.setattr(evidence, name, tmp_path / name.lower())
    return tmp_path


def compared(lr=0.05):
    """How many runs were found finished, and what two methods had."""
    values = {"dataset": "synthetic", "clients": 3, "rows": 90, "rounds": 1, "local_epochs": 1, "lr": lr}
    contenders = tuple(Contender(method=name) for name in ("local", "fedavg"))
    request = Request(
        setting=Setting.from_values(values | {"protection": "plaintext"}, 2),
        tasks=(Task(dataset="synthetic"),),
        contenders=contenders,
    )
    steps = []
    found = compare(request, Runner(store=CellStore(STUDY.cells), executor=Processes(1), on_step=steps.append))
    return sum(step.found for step in steps), found.placements(request.tasks[0], 0)


def test_what_was_found_is_kept_and_taken_for_finished_where_nothing_else_is_left(folder):
    _, before = compared()
    evidence.gather(STUDY, "the command", "abc")
    shutil.rmtree(evidence.WORK)
    evidence.restore(STUDY)
    found, after = compared()
    assert found == 4
    assert after["fedavg"].estimate.mean == pytest.approx(before["fedavg"].estimate.mean, abs=10**-evidence.DIGITS)
    kept = evidence.read(STUDY)
    assert kept["command"] == "the command"
    assert {(run["method"], run["seed"], run["commit"]) for run in kept["runs"]} == {
        (method, seed, "abc") for method in ("local", "fedavg") for seed in (0, 1)
    }


def test_a_newer_run_takes_the_place_of_an_older_one(folder):
    for rate, commit in ((0.05, "old"), (0.1, "new")):
        compared(rate)
        evidence.gather(STUDY, "the command", commit)
    evidence.gather(STUDY, "the command", "nothing came since")
    runs = evidence.read(STUDY)["runs"]
    assert [(run["commit"], run["settings"].get("lr")) for run in runs] == [("new", 0.1)] * 4


def test_every_study_is_a_command_that_is_understood_and_has_its_place():
    commands = typer.main.get_command(app).commands
    for study in STUDIES:
        for part in study.parts:
            words = shlex.split(f"{study.command}{part}")[2:]
            out = commands[study.experiment].make_context(study.experiment, words).params["out"]
            assert Path(out).name == study.name
    columns = {name for section in SECTIONS for name in section.studies} | {
        name for choice in CHOICES for name in choice.studies
    }
    assert columns | set(evidence_budget.TITLES) == {study.name for study in STUDIES}


BUDGET = Study(
    name="tiny-budget",
    experiment="budget",
    arguments="--rows 90 --clients 5 --participation 1 --rounds 1 --local-epochs 1 --methods fedavg,local "
    "--shared-steps 2 --epsilons 2,inf --quiet",
)


def in_this_process(study, command, _):
    app(shlex.split(command)[1:], standalone_mode=False)
    evidence.gather(study, command, "abc")
    return 0


def test_a_budget_goes_on_elsewhere_part_by_part_and_its_tables_are_kept(folder, monkeypatch, unrendered):
    monkeypatch.chdir(evidence.ROOT)
    monkeypatch.setattr(evidence, "FIGURES", folder)
    monkeypatch.setattr(evidence, "_compute", in_this_process)
    monkeypatch.setattr(evidence_budget, "SEEDS", 1)
    assert evidence.compute(BUDGET, 1) == 0
    first = evidence.read(BUDGET)
    assert len(first["runs"]) == 4, "shared noise, own noise, no privacy and Local-only"
    assert {run["settings"].get("dp_noise") for run in first["runs"]} == {"shared", None}
    assert first["finished"]["command"].endswith("--dp-noise both --seeds 1")
    assert (folder / "tiny-budget.png").exists()
    shutil.rmtree(evidence.WORK)
    assert evidence.compute(BUDGET, 1) == 0
    assert evidence.read(BUDGET) == first
    assert not list(BUDGET.cells.glob("common-*")), "nothing was trained again"


def run_of(method, accuracy):
    return {"method": method, "seed": 0, "judged_on": "test", "main": [accuracy], "second": [None], "seconds": 1}


RUN = run_of("local", 0.5) | {"version": "1", "commit": "abc"}


def test_who_is_tuned_is_who_was_strong_and_nobody_before_all_have_run(folder):
    study = next(one for one in STUDIES if one.name == "synthetic")
    runs = [run_of(method, number / 100) for number, method in enumerate(ALGORITHMS)]
    evidence.write(study, {"command": "", "sites": {}, "runs": runs})
    assert evidence.strongest("synthetic") == ["sapefl", "fedas", "fedafk", "lcfed", "fedavg-ft-plus", "sapefl-plus"]
    evidence.write(study, {"command": "", "sites": {}, "runs": runs[1:]})
    with pytest.raises(SystemExit, match="synthetic is not finished"):
        evidence.strongest("synthetic")


def test_a_list_runs_nothing_and_an_unknown_study_is_named(folder, capsys):
    assert evidence.main(["heart", "--list"]) == 0
    assert capsys.readouterr().out.startswith("heart: 0 runs, 0 s, made by nobody\n  secure-sapefl compare --dataset")
    with pytest.raises(SystemExit):
        evidence.main(["hart"])
    assert "no study is called hart" in capsys.readouterr().err


def test_tables_are_written_into_the_page_and_nothing_else_of_it_is_touched(folder, monkeypatch):
    page = evidence.PAGE.read_text()
    for name in ("PAGE", "PRIVACY_PAGE"):
        monkeypatch.setattr(evidence, name, folder / f"{name}.md")
    evidence.PRIVACY_PAGE.write_text("")
    evidence.write(next(one for one in STUDIES if one.name == "heart"), {"command": "c", "sites": {}, "runs": [RUN]})
    evidence.PAGE.write_text(page)
    assert evidence.main(["--page"]) == 0
    (before, _), (after, table) = (_parts(text) for text in (page, evidence.PAGE.read_text()))
    assert before == after
    assert "| `local` | 50.0 |" in table


def test_what_a_default_was_chosen_from_is_shown_by_value(folder, monkeypatch):
    runs = [
        RUN
        | {"method": "fedprox", "judged_on": "validation", "settings": {"options": {"mu": mu}}}
        | {"main": [mu / 2], "second": [mu / 4]}
        for mu in (0.01, 1.0)
    ]
    evidence.write(
        next(one for one in STUDIES if one.name == "defaults-har"), {"command": "c", "sites": {}, "runs": runs}
    )
    page, privacy = folder / "page.md", folder / "privacy.md"
    monkeypatch.setattr(evidence, "PAGE", page)
    monkeypatch.setattr(evidence, "PRIVACY_PAGE", privacy)
    page.write_text("\n".join(MARKS))
    privacy.write_text("")
    assert evidence.main(["--page"]) == 0
    assert "| `fedprox` | `mu=0.01` | 0.5, 0.2 | default |" in page.read_text()
    assert "| `fedprox` | `mu=1.0` | 50.0, 25.0 |  |" in page.read_text()
    assert "| `fedprox` | `mu=0.1` | – |  |" in page.read_text()


def _parts(page):
    """Around the tables, and the tables."""
    (head, rest), (_, tail) = (page.split(mark) for mark in MARKS)
    return (head, tail), rest.split(MARKS[1])[0]


def test_files_are_json_with_a_line_a_run(folder):
    evidence.write(STUDY, {"command": "c", "sites": {}, "runs": [run_of("local", 0.5), run_of("fedavg", 0.6)]})
    text = STUDY.kept.read_text()
    assert json.loads(text) == evidence.read(STUDY)
    assert len(text.splitlines()) == 5


def test_trials_of_one_rate_that_train_for_longer_stand_beside_each_other() -> None:
    """`budget --tune` tries both; one that stood for the other would have its file deleted."""
    result = {"seconds": 1, "main": [0.5], "second": [0.5], **dict.fromkeys(evidence.SITES)}
    trials = [
        evidence.compact(
            name, {"config": {"lr": 0.01, "local_epochs": epochs}, "judged_on": "validation", "version": "0"}, result
        )[0]
        for name, epochs in (("short", 2), ("long", 10))
    ]
    assert evidence._stands_for(trials[0]) != evidence._stands_for(trials[1])
