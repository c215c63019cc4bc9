"""Test results as a sum: known answers, and the grid they are counted on."""

import math

import numpy as np
import pytest

from secure_sapefl.protocol.results import RESULTS, ResultSum, is_result_total, least_senders, result_counts


def results(accuracy: float, rest: float = 0.5) -> dict[str, float]:
    return dict.fromkeys(RESULTS, rest) | {"accuracy": accuracy, "balanced_accuracy": 0.1}


def test_mean_and_spread_of_three_sites() -> None:
    totals = sum(result_counts(results(accuracy)) for accuracy in (0.6, 0.7, 0.8))  # type: ignore[misc]
    assert is_result_total(totals.tolist())  # type: ignore[union-attr]
    found = ResultSum(3, tuple(totals.tolist())).to_json()  # type: ignore[union-attr]
    assert found["sites"] == 3
    assert found["results"]["accuracy"]["mean"] == pytest.approx(0.7, abs=5e-4)
    assert found["results"]["accuracy"]["std"] == pytest.approx(math.sqrt(0.02 / 3), abs=1e-3)
    assert found["results"]["brier"]["std"] == 0
    assert set(found["results"]) == set(RESULTS)


def test_a_site_says_all_or_nothing() -> None:
    assert result_counts(results(0.5) | {"auc": math.nan}) is None
    counts = result_counts(results(1.0, 0.0))
    assert counts is not None
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert not is_result_total([1, 2, 3])


def test_two_others_would_follow_from_mean_and_spread() -> None:
    """Why four: a site that takes its own part off a sum of three solves for both others."""
    counts = [result_counts(results(accuracy)) for accuracy in (0.6, 0.7, 0.8)]
    others = counts[1] + counts[2]  # type: ignore[operator]
    total, squares = int(others[0]), int(others[len(RESULTS)])
    apart = math.isqrt(2 * squares - total**2)
    assert {(total - apart) // 2, (total + apart) // 2} == {int(counts[1][0]), int(counts[2][0])}  # type: ignore[index]
    assert [least_senders(k) for k in (1, 3, 4, 9)] == [4, 4, 4, 9]
