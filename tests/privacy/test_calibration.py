from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.accounting import rdp_epsilon
from secure_sapefl.privacy.calibration import Noise, Schedule, calibrate, score_share
from secure_sapefl.privacy.events import Budget

SAPEFL = Schedule(rounds=7, steps=2 * 5 * 25, sample_rate=0.04, queries=1, score_fraction=0.1)

schedules = st.builds(
    Schedule,
    rounds=st.integers(1, 200),
    steps=st.integers(1, 2000),
    sample_rate=st.floats(0.002, 1.0),
    queries=st.integers(0, 2),
    score_fraction=st.floats(0.01, 0.9),
)
budgets = st.builds(Budget, epsilon=st.floats(0.2, 20.0), delta=st.floats(1e-8, 1e-3))


@settings(max_examples=10, deadline=None)
@given(budgets, schedules)
def test_calibrated_noise_never_overshoots(budget: Budget, schedule: Schedule) -> None:
    noise = calibrate(budget, schedule)
    assert rdp_epsilon(schedule.composition(noise), budget.delta) <= budget.epsilon
    assert (noise.score is None) == (schedule.queries == 0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_and_wastes_next_to_nothing(epsilon: float) -> None:
    noise = calibrate(Budget(epsilon, 1e-5), SAPEFL)
    assert rdp_epsilon(SAPEFL.composition(noise), 1e-5) > 0.99 * epsilon


def test_what_leaves_in_no_round_takes_its_part_of_the_budget() -> None:
    budget, around = Budget(4.0, 1e-5), replace(SAPEFL, preparation=5.0, results=5.0)
    noise, alone = calibrate(budget, around), calibrate(budget, SAPEFL)
    assert noise.training is not None
    assert alone.training is not None
    assert noise.training > 1.01 * alone.training
    assert (5.0, 1.0, 1) in around.composition(noise)
    assert 0.99 * budget.epsilon < rdp_epsilon(around.composition(noise), budget.delta) <= budget.epsilon


def test_a_smaller_budget_means_more_noise_everywhere() -> None:
    strict, loose = (calibrate(Budget(epsilon, 1e-5), SAPEFL) for epsilon in (1.0, 8.0))
    assert strict.training is not None
    assert loose.training is not None
    assert strict.score is not None
    assert loose.score is not None
    assert strict.training > loose.training
    assert strict.score > loose.score


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_scores_take_their_share_of_the_budget(fraction: float, epsilon: float) -> None:
    schedule = Schedule(rounds=7, steps=250, sample_rate=0.04, queries=1, score_fraction=fraction)
    budget = Budget(epsilon, 1e-5)
    assert score_share(budget, schedule, calibrate(budget, schedule)) == pytest.approx(fraction, rel=0.3)


def test_a_method_that_trains_nothing_spends_all_on_scores() -> None:
    """T plain Gaussians with noise s are one with noise s / sqrt(T)."""
    schedule = Schedule(rounds=9, steps=0, sample_rate=1.0, queries=1, score_fraction=0.1)
    nine, one = (
        calibrate(Budget(2.0, 1e-5), schedule),
        calibrate(Budget(2.0, 1e-5), Schedule(rounds=1, steps=0, sample_rate=1.0, queries=1, score_fraction=0.1)),
    )
    assert nine.training is None
    assert nine.score is not None
    assert one.score is not None
    assert nine.score == pytest.approx(3 * one.score, rel=0.005)


def test_a_method_that_releases_nothing_needs_no_noise() -> None:
    nothing = Schedule(rounds=9, steps=0, sample_rate=1.0, queries=0, score_fraction=0.1)
    assert calibrate(Budget(2.0, 1e-5), nothing) == Noise(None, None)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300])
def test_a_budget_of_next_to_nothing_is_a_sentence(epsilon: float) -> None:
    with pytest.raises(BadInput, match="No amount of noise"):
        calibrate(Budget(epsilon, 1e-5), SAPEFL)


def test_an_impossible_budget_is_a_sentence() -> None:
    endless = Schedule(rounds=10**6, steps=10**6, sample_rate=1.0, queries=0, score_fraction=0.1)
    with pytest.raises(BadInput, match="No amount of noise"):
        calibrate(Budget(1e-4, 1e-9), endless)
