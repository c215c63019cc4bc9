from typing import Any

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.shared.calibrator import MOST_STEPS, Circumstances, Wanted, chosen_steps, shared_plan
from secure_sapefl.privacy.shared.plan import SharedPlan, noise_for

BUDGET = Budget(2.0, 1e-5)


ROWS = (80,) * 100


def planned(rows: tuple[int, ...] = ROWS, parameters: int = 30_000, steps: int = 200, **asked: Any) -> SharedPlan:
    wanted = {
        "budget": BUDGET,
        "unit": "record",
        "contributors": None,
        "colluders": 1,
        "rate": None,
        "clip": 1.0,
        "lr": None,
        "optimizer": "momentum",
    }
    facts = Circumstances(units=rows, invited=len(rows), steps=steps, charged=steps, parameters=parameters)
    return shared_plan(Wanted(**(wanted | asked)), facts)


def test_a_tenth_may_be_missing() -> None:
    assert planned().parties.contributors == 90
    assert planned(rows=(100,) * 4).parties.contributors == 4


def test_what_is_given_is_kept() -> None:
    made = planned(contributors=60, colluders=7, rate=0.1, lr=0.3, clip=2.0)
    assert (made.parties.contributors, made.parties.colluders) == (60, 7)
    assert (made.rate, made.lr, made.clip) == (0.1, 0.3, 2.0)


def test_the_rate_is_the_smallest_that_wastes_at_most_a_tenth() -> None:
    """Beside the mean gradient the noise is sigma / q: least at rate 1, and not much more at the one chosen."""
    rate = planned().rate

    def beside_the_mean(q: float) -> float:
        return noise_for(BUDGET, q, 200) / q

    assert rate < 0.3
    assert beside_the_mean(rate) <= 1.1 * beside_the_mean(1.0) < beside_the_mean(rate / 2**0.5)


def test_less_noise_lets_steps_lead_further() -> None:
    tight, loose = planned(budget=Budget(0.5, 1e-5)), planned(budget=Budget(8.0, 1e-5))
    assert tight.lr < loose.lr == pytest.approx(1.15 * 30_000**0.5 / 200)
    assert planned(steps=20).lr == 2.0


def test_the_walk_is_as_long_as_the_noise_allows_by_hand() -> None:
    made = planned(budget=Budget(0.5, 1e-5))
    assert made.lr * 200 == pytest.approx(0.75 * made.rate * made.units / made.noise)
    small = planned(parameters=28)
    assert small.lr * 200 == pytest.approx(1.15 * 28**0.5), "a small model needs no long walk, however little the noise"


def test_adam_is_given_the_rate_that_moves_as_far() -> None:
    """Adam divides by the deviation of a coordinate's noise, and its momentum is a mean, not a sum over ten steps."""
    one, other = planned(), planned(optimizer="adam")
    deviation = one.noise / (one.rate * 8000)
    assert other.lr == pytest.approx(one.lr * 10 * deviation)


def test_a_site_as_a_unit_is_one_of_so_many() -> None:
    made = planned(rows=(1,) * 100, unit="site")
    assert (made.units, made.most_units, made.units_per_site) == (100, 1, 1)
    assert planned().units_per_site == 80


def test_steps_beyond_what_helps_are_not_taken() -> None:
    assert chosen_steps(50) == 50
    assert chosen_steps(10_000) == MOST_STEPS


def test_more_contributors_than_are_invited_would_never_come() -> None:
    with pytest.raises(BadInput, match="--participation"):
        planned(rows=(50,) * 10, contributors=11)


def test_two_sites_have_nobody_to_hide_among() -> None:
    with pytest.raises(BadInput, match="--dp-contributors"):
        planned(rows=(50, 50))
