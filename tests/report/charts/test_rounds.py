"""What changes from round to round, as it is drawn."""

import pytest

from secure_sapefl.report.charts import rounds
from secure_sapefl.report.charts.drawing import to_svg
from secure_sapefl.report.charts.run import charts_of


def test_accuracy_shows_the_means_and_every_site(make_run, drawn):
    axes = drawn(make_run(), "accuracy")
    own, everywhere = axes.get_lines()
    assert own.get_ydata() == pytest.approx([0.6, 0.6])
    assert everywhere.get_ydata() == pytest.approx([1.6 / 3] * 2)
    (sites,) = axes.collections
    assert [path[:, 1].tolist() for path in sites.get_segments()] == [[0.9, 0.9], [0.6, 0.6], [0.3, 0.3]]
    low, high = axes.get_ylim()
    assert low < 0.3 < 0.9 < high


def test_rounds_are_counted_from_one(make_run, drawn):
    assert drawn(make_run(), "accuracy").get_lines()[0].get_xdata().tolist() == [1, 2]


def test_points_stand_where_models_were_evaluated(make_run, drawn):
    axes = drawn(make_run(rounds=4, evaluate_every=2), "accuracy")
    assert axes.get_lines()[0].get_xdata().tolist() == [2, 4]
    assert [path[:, 0].tolist() for path in axes.collections[0].get_segments()] == [[2, 4]] * 3
    assert drawn(make_run(rounds=4, evaluate_every=2), "bytes").get_lines()[0].get_xdata().tolist() == [1, 2, 3, 4]


def test_peers_show_how_many_passed_of_those_received(make_run, drawn):
    passed, received = drawn(make_run(), "peers").containers
    assert [bar.get_height() for bar in passed] == [1, 1]
    assert [bar.get_height() for bar in received] == [2, 2]


def test_many_points_become_pixels_so_that_the_page_stays_small(make_run, monkeypatch):
    accuracy = charts_of(make_run())[0]
    assert "<image" not in to_svg(accuracy, "a")
    monkeypatch.setattr(rounds, "_MOST_POINTS", 5)
    assert "<image" in to_svg(accuracy, "a")
