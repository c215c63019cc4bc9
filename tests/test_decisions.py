"""Thresholds and decision curves: worked by hand, then as properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.decisions import Goal, decision_curve, operating, threshold_for
from secure_sapefl.errors import BadInput

P = np.array([0.1, 0.4, 0.6, 0.35, 0.7, 0.9])
Y = np.array([False, False, False, True, True, True])


@pytest.mark.parametrize(
    ("goal", "threshold"),
    [
        (Goal("sensitivity", 1.0), 0.35),
        (Goal("sensitivity", 2 / 3), 0.7),
        (Goal("sensitivity", 0.5), 0.7),  # two of three are needed
        (Goal("sensitivity", 1 / 3), 0.9),
        (Goal("specificity", 1.0), 0.7),
        (Goal("specificity", 2 / 3), 0.6),
        (Goal("specificity", 1 / 3), 0.35),
    ],
)
def test_by_hand(goal: Goal, threshold: float) -> None:
    assert threshold_for(goal, P, Y) == threshold


def test_what_a_threshold_does() -> None:
    found = operating(0.6, P, Y)
    assert found.rows == 6
    assert found.sensitivity.value == pytest.approx(2 / 3)
    assert found.specificity.value == pytest.approx(2 / 3)
    assert found.sensitivity.low < 2 / 3 < found.sensitivity.high
    assert math.isnan(operating(0.6, P[:3], Y[:3]).sensitivity.value)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from([k / 8 for k in range(9)]), st.booleans()), min_size=2, max_size=20),
    st.sampled_from(["sensitivity", "specificity"]),
    st.sampled_from([0.05, 1 / 3, 0.5, 0.9, 1.0]),
)
def test_the_goal_is_kept_and_no_other_threshold_is_worth_more(
    rows: list[tuple[float, bool]], kind: str, share: float
) -> None:
    probability, positive = np.array([p for p, _ in rows]), np.array([y for _, y in rows])
    if positive.all() or not positive.any():
        with pytest.raises(BadInput, match="of one class"):
            threshold_for(Goal(kind, share), probability, positive)  # type: ignore[arg-type]
        return
    other = {"sensitivity": "specificity", "specificity": "sensitivity"}[kind]
    chosen = operating(threshold_for(Goal(kind, share), probability, positive), probability, positive)  # type: ignore[arg-type]
    assert getattr(chosen, kind).value >= share - 1e-12
    for threshold in [*np.unique(probability), 2.0]:
        found = operating(float(threshold), probability, positive)
        if getattr(found, kind).value >= share - 1e-12:
            assert getattr(found, other).value <= getattr(chosen, other).value


def test_net_benefit_by_hand() -> None:
    """At 0.5: three of six are flagged, two of them right, at odds of 1."""
    found = decision_curve(P, Y, np.array([0.2, 0.5]))
    assert found.model[1] == pytest.approx(2 / 6 - 1 / 6)
    assert found.model[0] == pytest.approx(3 / 6 - 2 / 6 * 0.25)
    assert found.everybody[1] == pytest.approx(0.5 - 0.5)
    assert found.lines()[0][3] == 0.0


@pytest.mark.parametrize("share", [0, -1, 1.2, math.nan])
def test_a_goal_is_a_share(share: float) -> None:
    with pytest.raises(BadInput, match="--sensitivity"):
        Goal("sensitivity", share)


def test_no_rows_no_curve() -> None:
    with pytest.raises(BadInput, match="no test rows"):
        decision_curve(P[:0], Y[:0])
