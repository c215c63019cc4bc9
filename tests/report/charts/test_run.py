"""Which charts a run has, what they say in words, and that odd runs can be drawn."""

import pytest

from secure_sapefl.report.charts.drawing import to_svg
from secure_sapefl.report.charts.run import charts_of

NAN = float("nan")


def names(run):
    return [chart.name for chart in charts_of(run)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sapefl", ["accuracy", "auc", "similarity", "scores", "peers", "seconds", "bytes"]),
        ("fedavg", ["accuracy", "auc", "seconds", "bytes"]),
        ("local", ["accuracy", "auc", "seconds"]),
    ],
)
def test_a_run_has_the_charts_it_can_fill(make_run, method, expected):
    assert names(make_run(method=method)) == expected


def test_without_any_auc_there_is_no_auc_chart(make_run):
    assert "auc" not in names(make_run(auc=(NAN, NAN, NAN)))
    assert "auc" in names(make_run("some", auc=(NAN, NAN, 0.7)))


@pytest.mark.parametrize(
    "odd",
    [
        {"rounds": 1},
        {"rounds": 1, "sites": ("Only",), "own": (0.5,), "auc": (0.5,), "everywhere": (0.4,)},
        {"auc": (NAN, 0.5, NAN)},
        {"matrix": [[None, 0.5, 0.5]] * 3},
        {"sites": ("$a$", "\x00", "x" * 500)},
    ],
)
def test_odd_runs_can_be_drawn(make_run, odd):
    for chart in charts_of(make_run(**odd)):
        assert to_svg(chart, "a").startswith("<svg")
