"""What a site is told, in one sentence."""

import math

import pytest

from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import ERRORS
from secure_sapefl.worth import Worth, judged, verdict_of


def at(value: float, width: float = 0.01) -> Interval:
    return Interval(value, value - width, value + width)


def test_a_gain_beyond_the_intervals_says_which_model_to_use() -> None:
    said = Worth(alone=at(0.7), common=at(0.75), own=at(0.8)).verdict
    assert said == (
        "its own model is 10.0 points better than alone and 5.0 points better than one common model; "
        "intervals apart from training alone: taking part pays here, use its own model"
    )
    assert Worth(alone=at(0.7), common=at(0.8), own=at(0.75)).verdict.endswith("use the common model")


def test_a_loss_beyond_the_intervals_says_to_keep_to_oneself() -> None:
    said = Worth(alone=at(0.9), common=at(0.5), own=at(0.8)).verdict
    assert "10.0 points worse than alone and 30.0 points better" in said
    assert said.endswith("this site should keep to itself")


@pytest.mark.parametrize(
    ("common", "own", "ends"),
    [
        (0.6, 0.72, "a gain by its own model is possible, these test rows do not prove it"),
        (0.74, 0.69, "a gain by the common model is possible, these test rows do not prove it"),
        (0.6, 0.69, "nothing gained here"),
    ],
)
def test_where_intervals_touch_nobody_has_won(common: float, own: float, ends: str) -> None:
    assert Worth(alone=at(0.7, 0.1), common=at(common, 0.1), own=at(own, 0.1)).verdict.endswith(ends)


def test_where_lower_is_better_less_is_a_gain() -> None:
    mae = ERRORS[0]
    said = Worth(alone=at(0.7), common=at(0.45), own=at(0.5), by=mae).verdict
    assert said == (
        "its own model is 0.2 better in MAE than alone and 0.05 worse in MAE than one common model; intervals apart "
        "from training alone: taking part pays here, use the common model"
    )
    assert "keep to itself" in Worth(alone=at(0.3), common=None, own=at(0.5), by=mae).verdict


def test_a_site_is_spoken_to_and_a_method_without_a_common_model_has_none() -> None:
    worth = Worth(alone=at(0.8), common=None, own=at(0.7))
    assert worth.said_of("your own model", "train alone") == (
        "your own model is 10.0 points worse than alone; training alone is better by more than chance: train alone"
    )


def test_equal_is_said_as_equal() -> None:
    assert (
        "as good as alone and as good as one common model" in Worth(alone=at(0.7), common=at(0.7), own=at(0.7)).verdict
    )


def test_the_rounding_of_a_mean_is_no_gain() -> None:
    said = Worth(alone=at(0.7, 0.1), common=at(0.7 + 1e-15, 0.1), own=at(0.7, 0.1)).verdict
    assert said.endswith("nothing gained here")


def test_the_interval_is_wilsons() -> None:
    """9 of 10 by hand: (0.9 + z²/20 ± z sqrt(0.09/10 + z²/400)) / (1 + z²/10) with z = 1.96."""
    found = judged(0.9, 10)
    assert (found.value, found.low, found.high) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)


def test_no_test_rows_is_no_verdict() -> None:
    assert math.isnan(judged(float("nan"), 5).low)
    assert "no test rows" in Worth(alone=judged(0.5, 0), common=at(0.5), own=at(0.5)).verdict


def test_of_a_comparison_the_first_personal_method_is_judged() -> None:
    found = [("sapefl", at(0.8)), ("ditto", at(0.9)), ("fedavg", at(0.75)), ("local", at(0.7))]
    said = verdict_of(found)
    assert said is not None
    assert "10.0 points better than alone and 5.0 points better than one common model" in said
    assert verdict_of(found[:3]) is None
