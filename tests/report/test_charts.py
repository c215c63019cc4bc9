"""Which charts a run has, what they say in words, and that odd runs can be drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from secure_sapefl.report import round_charts
from secure_sapefl.report.charts import charts_of
from secure_sapefl.report.drawing import to_svg
from secure_sapefl.report.phases import seconds_by_phase

NAN = float("nan")


def names(run):
    return [chart.name for chart in charts_of(run)]


def drawn(run, name):
    figure = Figure()
    next(chart for chart in charts_of(run) if chart.name == name).draw(figure)
    return figure.axes[0]


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


def test_accuracy_shows_the_means_and_every_site(make_run):
    axes = drawn(make_run(), "accuracy")
    own, everywhere = axes.get_lines()
    assert own.get_ydata() == pytest.approx([0.6, 0.6])
    assert everywhere.get_ydata() == pytest.approx([1.6 / 3] * 2)
    (sites,) = axes.collections
    assert [path[:, 1].tolist() for path in sites.get_segments()] == [[0.9, 0.9], [0.6, 0.6], [0.3, 0.3]]
    low, high = axes.get_ylim()
    assert low < 0.3 < 0.9 < high


def test_rounds_are_counted_from_one(make_run):
    assert drawn(make_run(), "accuracy").get_lines()[0].get_xdata().tolist() == [1, 2]


def test_points_stand_where_models_were_evaluated(make_run):
    axes = drawn(make_run(rounds=4, evaluate_every=2), "accuracy")
    assert axes.get_lines()[0].get_xdata().tolist() == [2, 4]
    assert [path[:, 0].tolist() for path in axes.collections[0].get_segments()] == [[2, 4]] * 3
    assert drawn(make_run(rounds=4, evaluate_every=2), "bytes").get_lines()[0].get_xdata().tolist() == [1, 2, 3, 4]


def test_peers_show_how_many_passed_of_those_received(make_run):
    passed, received = drawn(make_run(), "peers").containers
    assert [bar.get_height() for bar in passed] == [1, 1]
    assert [bar.get_height() for bar in received] == [2, 2]


def test_the_heat_map_leaves_out_what_was_not_compared(make_run):
    matrix = [[None, 0.25, 0.75], [0.5, None, None], [None, None, None]]
    run = make_run(matrix=matrix)
    (image,) = drawn(run, "similarity").images
    assert np.isnan(image.get_array().filled(np.nan)).sum() == 6
    words = next(chart.alt for chart in charts_of(run) if chart.name == "similarity")
    assert words == "Heat map of 3 similarities between 3 sites: lowest 0.25, mean 0.50, highest 0.75."


def test_seconds_that_no_phase_explains_are_shown_too(make_run):
    assert seconds_by_phase(make_run()) == {"local": 4.0, "encrypt": 1.0, "other": 1.0}


def test_phases_stand_from_top_to_bottom(make_run):
    axes = drawn(make_run(), "seconds")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["local", "encrypt", "other"]
    assert axes.yaxis_inverted()


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


def test_many_points_become_pixels_so_that_the_page_stays_small(make_run, monkeypatch):
    accuracy = charts_of(make_run())[0]
    assert "<image" not in to_svg(accuracy, "a")
    monkeypatch.setattr(round_charts, "_MOST_POINTS", 5)
    assert "<image" in to_svg(accuracy, "a")
