"""The bound from one run, against answers by hand and against a mechanism whose epsilon is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.audit.one_run import epsilon_bound, lower_bound, p_value


def test_all_right_without_delta_by_hand() -> None:
    """100 of 100 right: the p-value is truth^100, so truth = 0.05^(1/100) and epsilon its log odds."""
    truth = 0.05 ** (1 / 100)
    assert epsilon_bound(100, 100, 100, 0.0, 0.05) == pytest.approx(math.log(truth / (1 - truth)), abs=1e-5)
    assert p_value(100, 100, 100, 0.0, 0.0) == pytest.approx(2.0**-100)


def test_delta_costs_something() -> None:
    assert p_value(100, 50, 45, 1.0, 1e-3) > p_value(100, 50, 45, 1.0, 0.0)
    assert epsilon_bound(100, 50, 45, 1e-3, 0.05) < epsilon_bound(100, 50, 45, 0.0, 0.05)


@given(st.integers(1, 60), st.data())
def test_more_right_guesses_never_lower_the_bound(guesses: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, guesses - 1))
    assert epsilon_bound(60, guesses, right, 1e-5, 0.05) <= epsilon_bound(60, guesses, right + 1, 1e-5, 0.05) + 1e-5


def test_guessing_at_random_shows_nothing() -> None:
    rng = np.random.default_rng(0)
    bounds = [lower_bound(rng.normal(size=200), rng.random(200) < 0.5, 1e-5).epsilon for _ in range(40)]
    assert np.mean(np.array(bounds) > 0) <= 0.1


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_stays_below_the_epsilon_of_randomised_response(epsilon: float) -> None:
    """Each coin is told truly with probability e^eps / (1 + e^eps): exactly epsilon-private, and the bound is near."""
    rng = np.random.default_rng(1)
    truth, bounds = 1 / (1 + math.exp(-epsilon)), []
    for _ in range(40):
        coins = rng.random(400) < 0.5
        observed = np.where(rng.random(400) < truth, coins, ~coins)
        bounds.append(lower_bound(observed + 0.1 * rng.random(400), coins, 0.0).epsilon)
    assert np.mean(np.array(bounds) > epsilon) <= 0.05
    assert np.median(bounds) > epsilon / 2


def test_a_perfect_guesser_reaches_what_is_reachable() -> None:
    coins = np.random.default_rng(2).random(100) < 0.5
    found = lower_bound(coins.astype(float), coins, 1e-5)
    assert found.right <= found.guesses
    assert 2 < found.epsilon <= found.reachable
