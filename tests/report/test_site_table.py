"""Sites × runs: known answers, and nothing said of rows nobody has."""

import math
from dataclasses import replace

from secure_sapefl.metrics import Scores
from secure_sapefl.report import site_table as room
from secure_sapefl.report.comparison import compare
from secure_sapefl.report.page import render_page
from secure_sapefl.report.site_table import site_table


def runs(make_run):
    return [
        make_run("alone", method="local", own=(0.5, 0.5, 0.5)),
        make_run("one", method="fedavg", own=(0.6, 0.4, 0.9)),
        make_run("ours", own=(0.9, 0.5, 0.4)),
    ]


def test_every_site_under_every_run_with_a_verdict(make_run, monkeypatch):
    monkeypatch.setattr(room, "rows_tested", lambda run: (100, 100, 0))
    table = site_table(compare(runs(make_run)))
    assert [run.label for run in table.runs] == ["alone", "one", "ours"]
    first, second, third = table.lines
    assert first.cells[0] == "50.0 % (40–60)"
    assert first.verdict.startswith("its own model is 40.0 points better than alone and 30.0 points better than one")
    assert second.verdict.endswith("nothing gained here")
    assert third.verdict.startswith("no test rows")
    page = render_page(runs(make_run))
    assert "Every site under every run" in page
    assert first.verdict in page


def test_without_the_data_at_hand_there_is_no_interval_and_no_verdict(make_run, monkeypatch):
    monkeypatch.setattr(room, "rows_tested", lambda run: None)
    table = site_table(compare(runs(make_run)))
    assert table.lines[0].cells == ("50.0 %", "60.0 %", "90.0 %")
    assert math.isnan(table.lines[0].found[0].low)
    assert table.lines[0].verdict is None
    assert "Was it worth it?" not in render_page(runs(make_run))


def test_runs_on_other_rows_are_left_out(make_run, monkeypatch):
    monkeypatch.setattr(room, "rows_tested", lambda run: None)
    assert site_table(compare([make_run("a"), make_run("b", seed=1)])) is None
    table = site_table(compare([make_run("a"), make_run("b", seed=1), make_run("c")]))
    assert [run.label for run in table.runs] == ["a", "c"]


def of_numbers(run):
    """The same run, as one that predicts numbers."""
    as_error = lambda scores: Scores({"mae": scores.main})  # noqa: E731
    rounds = [replace(r, personal=as_error(r.personal), everywhere=as_error(r.everywhere)) for r in run.rounds]
    facts = {"mae": {"title": "MAE", "higher_is_better": False, "percent": False}}
    return replace(run, rounds=tuple(rounds), summary={**run.summary, "main_metric": "mae", "metrics": facts})


def test_runs_that_predict_numbers_have_a_table_too(make_run, monkeypatch):
    monkeypatch.setattr(room, "rows_tested", lambda run: (100, 100, 100))
    numbers = [of_numbers(run) for run in runs(make_run)]
    table = site_table(compare(numbers))
    assert table.lines[0].cells == ("0.500", "0.600", "0.900")
    assert table.lines[0].verdict is None
    assert "MAE, lower is better; secure-sapefl compare adds" in render_page(numbers)
    mixed = site_table(compare([numbers[0], *runs(make_run)[1:], numbers[2]]))
    assert len(mixed.runs) == 2
