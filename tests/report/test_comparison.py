"""Runs side by side: paired where they may be, and only there."""

import pytest

from secure_sapefl.report.charts.drawing import to_svg
from secure_sapefl.report.comparison import compare, comparison_charts, same_rows, with_distinct_labels


def test_differences_are_paired_with_the_first_run(make_run):
    first, second = make_run("a", own=(0.5, 0.5, 0.5)), make_run("b", own=(0.6, 0.4, 0.9))
    reference, other = compare([first, second])
    assert reference.difference is None
    assert other.difference.mean == pytest.approx(0.4 / 3)
    assert (other.gained, other.lost) == (2, 1)


@pytest.mark.parametrize("other", [{"seed": 1}, {"source": "another file"}, {"client_names": ["Anna", "Bert", "Dora"]}])
def test_runs_over_other_rows_are_not_paired(make_run, other):
    first, second = make_run("a"), make_run("b", **other)
    assert not same_rows(first, second)
    assert compare([first, second])[1].difference is None


def test_method_and_protection_do_not_change_the_rows(make_run):
    assert same_rows(make_run("a"), make_run("b", method="local", protection="plaintext"))


def test_folders_of_the_same_name_are_told_apart(make_run):
    run, other = make_run("a"), make_run("b")
    assert [r.label for r in with_distinct_labels([run, other, run])] == ["a (1)", "b", "a (3)"]


def test_charts_of_more_runs_than_colours(make_run):
    run = make_run("a", own=(0.0, 0.0, 0.0))
    for chart in comparison_charts(compare([run] * 7)):
        assert to_svg(chart, "a").startswith("<svg")
