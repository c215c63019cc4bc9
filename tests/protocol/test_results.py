"""Test results as a sum: known answers, and the grid they are counted on."""

import math

import numpy as np
import pytest

from secure_sapefl.protocol.results import (
    COUNTED,
    RESULTS,
    STEP,
    ResultSum,
    is_result_total,
    least_senders,
    result_counts,
    row_counts,
)
from secure_sapefl.protocol.sums import NOISE_OFFSET


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


def test_what_a_private_study_counts_by_hand() -> None:
    """Of (0.5, 0.5) the first class is said; its squared distance from either label is 0.5, half of that a quarter."""
    outputs, y = np.zeros((3, 2), np.float32), np.array([0, 0, 1])
    assert row_counts(outputs, y).tolist() == [2 * STEP, STEP, 3 * STEP // 4]
    assert row_counts(outputs[:0], y[:0]).tolist() == [0, 0, 0]


def test_one_row_more_moves_each_count_by_a_step_at_most() -> None:
    """Which is all that the noise has to hide: sqrt(2) steps, whatever the row and the model are."""
    rng = np.random.default_rng(0)
    outputs = np.concatenate([rng.normal(0, 5, (40, 3)), [[np.nan] * 3, [1e30, -1e30, 0]]]).astype(np.float32)
    y = rng.integers(0, 3, len(outputs))
    for row in range(len(outputs)):
        kept = np.arange(len(outputs)) != row
        right, wrong, brier = (row_counts(outputs, y) - row_counts(outputs[kept], y[kept])).tolist()
        assert sorted((right, wrong)) == [0, STEP]
        assert 0 <= brier <= STEP
        assert math.hypot(right, wrong, brier) <= math.sqrt(2) * STEP


def test_a_noised_sum_is_over_all_rows_and_stays_a_share() -> None:
    def told(right: int, wrong: int, brier: int, noise: float = 0.5) -> dict[str, float | None]:
        totals = tuple(STEP * count + NOISE_OFFSET * 4 for count in (right, wrong, brier))
        assert is_result_total(totals, noised=True)
        assert not is_result_total(totals)
        found = ResultSum(4, totals, noise).to_json()
        assert found["noised"]
        assert all(one["std"] is None for one in found["results"].values())
        return {name: one["mean"] for name, one in found["results"].items()}

    assert told(30, 10, 8) == {"accuracy": 0.75, "brier": 0.4}
    assert told(-3, 10, -2) == {"accuracy": 0.0, "brier": 0.0}
    nothing = {"accuracy": None, "brier": None}  # noise may be larger than what it hides
    assert told(-5, -5, 3) == nothing
    assert told(-3, 6, -15, noise=13.3) == nothing
    assert told(60, 16, 15, noise=13.3) == nothing  # 76 records beside a noise of 38
    assert told(300, 100, 80, noise=13.3) == {"accuracy": 0.75, "brier": 0.4}
    assert len(COUNTED) == 3


def test_how_far_noise_puts_a_result_off() -> None:
    """Against a thousand draws of that noise."""
    rng = np.random.default_rng(0)
    exact = np.array([300.0, 100.0, 80.0])
    found = ResultSum(4, tuple((STEP * exact).astype(int) + 4 * NOISE_OFFSET), 5.0).to_json()["results"]
    right, wrong, brier = (exact + rng.normal(0, 5.0 * math.sqrt(4), (1000, 3))).T
    rows = right + wrong
    assert found["accuracy"]["noise"] == pytest.approx((right / rows).std(), rel=0.1)
    assert found["brier"]["noise"] == pytest.approx((2 * brier / rows).std(), rel=0.1)
