"""Accuracy and AUC against scikit-learn, and the rules where it refuses to answer."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, roc_auc_score

from secure_sapefl.metrics import (
    ERRORS,
    LABEL_METRICS,
    METRICS,
    Scores,
    Spread,
    accuracy,
    average_ranks,
    macro_auc,
    softmax,
    title_of,
)

quick = settings(deadline=None, max_examples=40)


def drawn(seed: int, rows: int, classes: int, decimals: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Logits, coarse enough for ties where asked, and labels among which every class occurs."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, classes)).round(decimals).astype(np.float32)
    y = np.concatenate([np.arange(classes), rng.integers(classes, size=rows - classes)])
    return logits, y


@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(0, 30), st.integers(0, 3))
@quick
def test_macro_auc_is_scikit_learns(seed: int, classes: int, more: int, decimals: int) -> None:
    logits, y = drawn(seed, classes + more, classes, decimals)
    expected = roc_auc_score(y, softmax(logits), multi_class="ovr", average="macro", labels=np.arange(classes))
    assert macro_auc(softmax(logits), y) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
@quick
def test_two_classes_are_the_ordinary_auc(seed: int, rows: int) -> None:
    logits, y = drawn(seed, rows, 2, decimals=1)
    probabilities = softmax(logits)
    assert macro_auc(probabilities, y) == pytest.approx(roc_auc_score(y, probabilities[:, 1]), abs=1e-9)


def test_a_class_absent_from_the_rows_is_left_out() -> None:
    """Of three classes only 0 and 2 occur; the mean is over their two one-vs-rest curves."""
    probabilities = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.1, 0.4], [0.1, 0.1, 0.8]])
    y = np.array([0, 0, 2, 2])
    expected = np.mean([roc_auc_score(y == k, probabilities[:, k]) for k in (0, 2)])
    assert macro_auc(probabilities, y) == pytest.approx(expected)


def test_by_hand() -> None:
    """Class 1 scores: positives 0.9, 0.4; negatives 0.4, 0.2. Pairs won: 1, 1, 1/2, 1 of 4 -> 0.875."""
    one = np.array([0.9, 0.4, 0.4, 0.2])
    assert macro_auc(np.stack([1 - one, one], 1), np.array([1, 1, 0, 0])) == pytest.approx(0.875)


def test_rows_of_a_single_class_have_no_auc() -> None:
    assert math.isnan(macro_auc(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1])))
    assert math.isnan(macro_auc(np.array([[0.2, 0.8]]), np.array([0])))


def test_answers_all_alike_are_chance() -> None:
    assert macro_auc(np.full((6, 3), 1 / 3), np.array([0, 1, 2, 0, 1, 2])) == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(0, 20))
@quick
def test_accuracy_is_scikit_learns(seed: int, classes: int, more: int) -> None:
    logits, y = drawn(seed, classes + more, classes)
    assert accuracy(logits, y) == pytest.approx(accuracy_score(y, logits.argmax(1)))


def test_softmax_survives_large_logits() -> None:
    probabilities = softmax(np.array([[1e4, -1e4, 0], [-3e38, 0, 0]], dtype=np.float32))
    np.testing.assert_allclose(probabilities, [[1, 0, 0], [0, 0.5, 0.5]])


def test_spread_leaves_out_clients_without_a_number_and_says_so() -> None:
    """Mean (1 + 3)/2 = 2, population deviation 1, of two clients among three."""
    spread = Spread((1.0, float("nan"), 3.0))
    assert spread.to_json() == {"mean": 2.0, "std": 1.0, "defined": 2, "per_client": [1.0, None, 3.0]}


def test_spread_of_nobody_is_null_not_nan() -> None:
    for spread in (Spread(()), Spread((float("nan"),))):
        summary = spread.to_json()
        assert (summary["mean"], summary["std"], summary["defined"]) == (None, None, 0)


def test_scores_are_unweighted_over_clients() -> None:
    """A client with one row counts as much as one with four."""
    right, wrong = np.array([[0.0, 1]], dtype=np.float32), np.array([[1, 0]] * 4, dtype=np.float32)
    scores = Scores.from_outputs([(right, np.array([1])), (wrong, np.array([1, 1, 1, 0]))])
    assert scores.accuracy.per_client == (1.0, 0.25)
    assert scores.accuracy.mean == 0.625
    assert math.isnan(scores.auc.per_client[0])
    assert scores.auc.per_client[1] == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(0, 30), st.integers(0, 3))
@quick
def test_balanced_accuracy_and_average_precision_are_scikit_learns(
    seed: int, classes: int, more: int, decimals: int
) -> None:
    logits, y = drawn(seed, classes + more, classes, decimals)
    assert METRICS["balanced_accuracy"].measure(logits, y) == pytest.approx(
        balanced_accuracy_score(y, logits.argmax(1))
    )
    each = [average_precision_score(y == k, softmax(logits)[:, k]) for k in range(classes)]
    assert METRICS["average_precision"].measure(logits, y) == pytest.approx(np.mean(each), abs=1e-12)


def test_brier_score_by_hand() -> None:
    """(0.3^2 + 0.3^2 + 0) and (0.5^2 + 0.5^2): half their sum."""
    logits = np.log(np.array([[0.7, 0.3], [0.5, 0.5]], dtype=np.float32))
    assert METRICS["brier"].measure(logits, np.array([0, 1])) == pytest.approx((0.18 + 0.5) / 2, abs=1e-6)


def test_calibration_error_by_hand() -> None:
    """Two rows at 0.9, one right: |1.8 - 1|. Two at 0.6, both right: |1.2 - 2|. Over four rows: 0.4."""
    logits = np.log(np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]], dtype=np.float32))
    assert METRICS["calibration_error"].measure(logits, np.array([0, 1, 0, 0])) == pytest.approx(0.4, abs=1e-6)


def test_each_metric_knows_its_direction_and_is_undefined_without_rows() -> None:
    worse = {name for name, metric in METRICS.items() if not metric.higher_is_better}
    assert worse == {"brier", "calibration_error"}
    assert METRICS["brier"].better(0.1, 0.2)
    assert METRICS["auc"].better(0.2, 0.1)
    for metric in METRICS.values():
        assert math.isnan(metric.measure(np.zeros((0, 3), dtype=np.float32), np.zeros(0, dtype=np.int64)))


def test_scores_hold_every_metric_of_every_site() -> None:
    scores = Scores.from_outputs([drawn(0, 9, 3), drawn(1, 7, 3)])
    assert set(scores.metrics) == set(METRICS)
    assert list(scores.metrics)[:2] == ["accuracy", "auc"], "those that are shown everywhere"
    assert scores.metrics["accuracy"] == scores.accuracy
    assert all(len(spread.per_client) == 2 for spread in scores.metrics.values())


def test_ranks_are_scipy_s_ties_and_gaps_included() -> None:
    rng = np.random.default_rng(0)
    ties, gap = rng.integers(0, 4, 30).astype(float), np.array([2.0, np.nan, 1.0])
    for values in (rng.normal(size=30), ties, gap, np.zeros(0)):
        np.testing.assert_array_equal(average_ranks(values), rankdata(values))
    columns = np.stack([ties, ties[::-1], rng.normal(size=30), np.where(ties > 2, np.inf, ties)], axis=1)
    np.testing.assert_array_equal(average_ranks(columns), rankdata(columns, axis=0))


def test_errors_of_numbers_by_hand() -> None:
    outputs, y = np.array([[1.0], [2.0], [6.0]]), np.array([[1.0], [4.0], [4.0]])
    found = {metric.name: metric.measure(outputs, y) for metric in ERRORS}
    assert found["mae"] == pytest.approx(4 / 3)
    assert found["rmse"] == pytest.approx(np.sqrt(8 / 3))
    assert found["r2"] == pytest.approx(1 - 8 / 6)
    assert np.isnan(ERRORS[1].measure(outputs, np.ones((3, 1)))), "nothing varies"
    assert not ERRORS[0].higher_is_better


def test_labels_of_yes_and_no_by_hand() -> None:
    outputs, y = np.array([[2.0, -1.0], [-1.0, -1.0], [1.0, 3.0]]), np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    found = {metric.name: metric.measure(outputs, y) for metric in LABEL_METRICS}
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["balanced_accuracy"] == pytest.approx(((1 + 0.5) / 2 + (0.5 + 1) / 2) / 2)
    assert found["auc"] == pytest.approx((1 + 0.75) / 2)
    sure = 1 / (1 + np.exp(-outputs))
    assert found["brier"] == pytest.approx(np.square(sure - y).mean())
    assert 0 < found["calibration_error"] < 1
    assert 0 < found["average_precision"] <= 1


def test_a_metric_of_ones_own_is_called_by_its_name() -> None:
    assert (title_of("auc"), title_of("my_own")) == ("AUC", "my own")
