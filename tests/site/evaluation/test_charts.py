"""The charts of a site's report: what is drawn of what there is."""

from collections.abc import Callable

import numpy as np
import pytest

from secure_sapefl.report.charts.drawing import to_svg
from secure_sapefl.site.evaluation.charts import charts_of, stretches
from secure_sapefl.site.evaluation.findings import Findings
from tests.site.evaluation.made_up import found, found_labels, found_numbers


def test_two_classes_have_a_decision_curve_whose_words_are_its_numbers() -> None:
    charts = {chart.name: chart for chart in charts_of(found())}
    assert list(charts) == ["site-accuracy", "site-auc", "site-calibration", "site-decisions"]
    sure = 1 / (1 + np.exp(-3))  # what the own model says of every positive; of every negative the rest
    assert f"at 5 to {100 * sure:.0f} %" in charts["site-decisions"].caption
    apart = (1 - sure) * 4 / 5  # in four of five bins; the one in the middle has as many of either kind
    assert f"own model {apart:.3f}" in charts["site-calibration"].caption
    assert charts["site-accuracy"].alt.endswith("ends at 100 %.")


def test_where_a_model_helps_has_gaps() -> None:
    thresholds = np.linspace(0.1, 0.6, 6)
    assert stretches(thresholds, np.array([False, True, True, False, False, True])) == "20 to 30, 60 %"
    assert stretches(thresholds, np.zeros(6, bool)) == "no threshold"


def test_of_three_classes_only_what_changes_over_rounds_is_drawn() -> None:
    assert [chart.name for chart in charts_of(found(classes=3))] == ["site-accuracy", "site-auc"]


def test_labels_are_calibrated_together_and_numbers_drawn_against_what_was_measured() -> None:
    assert [chart.name for chart in charts_of(found_labels())] == ["site-accuracy", "site-auc", "site-calibration"]
    mae, r2, measured = charts_of(found_numbers())
    assert (mae.name, r2.name, measured.name) == ("site-mae", "site-r2", "site-measured-0")
    assert mae.caption.endswith("lower is better.")
    assert measured.caption.endswith("Half of them are within 1.")
    assert "<svg" in to_svg(measured, "x")


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("made", [found, found_labels, found_numbers])
def test_few_or_no_test_rows_are_drawn_without_failing(rows: int, made: Callable[..., Findings]) -> None:
    for chart in charts_of(made(rows=rows)):
        assert "<svg" in to_svg(chart, "x")
