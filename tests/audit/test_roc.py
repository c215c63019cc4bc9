"""Detection rates by hand, with ties, and silence where rows are too few."""

import numpy as np
import pytest

from secure_sapefl.audit.roc import detection

RNG = np.random.default_rng


def test_area_by_hand() -> None:
    """Members 3, 1 against others 2, 0: three of four pairs are in order."""
    found = detection(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]), RNG(0))
    assert found.auc.value == pytest.approx(0.75)
    assert (found.members, found.non_members) == (2, 2)


def test_ties_count_half() -> None:
    found = detection(np.zeros(200), np.arange(200) < 100, RNG(0))
    assert found.auc.value == pytest.approx(0.5)
    assert found.tpr[0.01] is not None
    assert found.tpr[0.01].value == 0, "whoever accuses one accuses all"


def test_true_positives_by_hand() -> None:
    """Of 100 others one scores 50; the members score 0..99: 49 lie above, and at one false alarm in 100 all but 0."""
    others = np.concatenate([[50.0], np.full(99, -1.0)])
    found = detection(np.concatenate([np.arange(100.0), others]), np.arange(200) < 100, RNG(0))
    assert found.tpr[0.01] is not None
    assert found.tpr[0.01].value == pytest.approx(1.0)


def test_a_rate_that_cannot_be_set_is_not_reported() -> None:
    found = detection(RNG(1).normal(size=600), np.arange(600) < 100, RNG(0))
    assert found.tpr[0.01] is not None
    assert found.tpr[0.001] is None
    assert detection(RNG(1).normal(size=150), np.arange(150) < 100, RNG(0)).tpr[0.01] is None


def test_intervals_hold_the_value_and_chance_is_no_success() -> None:
    scores, member = RNG(2).normal(size=2000), np.arange(2000) < 1000
    chance = detection(scores, member, RNG(0))
    assert chance.auc.low <= chance.auc.value <= chance.auc.high
    assert chance.auc.low <= 0.5
    assert detection(scores + member, member, RNG(0)).auc.low > 0.5
