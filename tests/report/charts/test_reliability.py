"""Calibration in bins: known answers, and a drawing that says what it shows."""

import numpy as np
from matplotlib.figure import Figure

from secure_sapefl.report.charts.reliability import draw_reliability, reliability


def test_by_hand() -> None:
    found = reliability(np.array([0.9, 0.1, 0.8, 0.2]), np.array([True, False, False, False]), bins=2)
    np.testing.assert_allclose(found.said, [0.15, 0.85])
    np.testing.assert_allclose(found.happened, [0.0, 0.5])
    assert found.rows.tolist() == [2, 2]
    assert abs(found.error - (0.15 + 0.35) / 2) < 1e-12


def test_whoever_says_what_happens_has_no_error() -> None:
    assert reliability(np.array([0.0, 0.0, 1.0]), np.array([False, False, True]), bins=3).error == 0


def test_fewer_rows_than_bins() -> None:
    assert reliability(np.array([0.3]), np.array([True]), bins=8).rows.tolist() == [1]


def test_the_drawing_has_a_line_a_curve_and_the_diagonal() -> None:
    curve = reliability(np.array([0.2, 0.7]), np.array([False, True]), bins=2)
    axes = Figure().subplots()
    draw_reliability(axes, {"Alone": curve, "FedAvg": curve})
    assert [line.get_label() for line in axes.lines[1:]] == ["Alone", "FedAvg"]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [0, 1])
