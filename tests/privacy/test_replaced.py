"""Epsilon for a replaced record: known answers, and Google's dp-accounting under its relation REPLACE_ONE."""

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation

from secure_sapefl.privacy.accounting import Composition, rdp_epsilon
from secure_sapefl.privacy.calibration import Schedule, calibrate
from secure_sapefl.privacy.events import Budget
from secure_sapefl.privacy.replaced import replace_one_epsilon

DELTA = 1e-5
COMPOSITIONS: list[Composition] = [
    [(8.0, 0.05, 1000)],
    [(1.5, 0.02, 500)],
    [(0.8, 0.16, 7)],
    [(3.0, 0.1, 200), (20.0, 1.0, 7)],
]


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_where_everybody_is_sampled_it_is_a_gaussian_of_twice_the_reach(noise: float) -> None:
    assert replace_one_epsilon([(noise, 1.0, 3)], DELTA) == pytest.approx(rdp_epsilon([(noise / 2, 1.0, 3)], DELTA))
    nearly = replace_one_epsilon([(noise, 1 - 1e-15, 3)], DELTA)
    assert nearly == pytest.approx(rdp_epsilon([(noise / 2, 1.0, 3)], DELTA), rel=1e-5)


@pytest.mark.parametrize("spent", COMPOSITIONS)
def test_dp_accounting_says_the_same_but_for_what_rdp_gives_away(spent: Composition) -> None:
    parts = [
        pld.from_gaussian_mechanism(
            noise,
            sampling_prob=rate,
            neighboring_relation=NeighboringRelation.REPLACE_ONE,
            value_discretization_interval=1e-3,
        ).self_compose(count)
        for noise, rate, count in spent
    ]
    exact = parts[0]
    for part in parts[1:]:
        exact = exact.compose(part)
    theirs = exact.get_epsilon_for_delta(DELTA)
    assert theirs <= replace_one_epsilon(spent, DELTA) <= 1.16 * theirs


@pytest.mark.parametrize("spent", COMPOSITIONS)
def test_a_replaced_record_costs_more_than_one_removed_and_less_than_half_the_noise_would(spent: Composition) -> None:
    half = rdp_epsilon([(noise / 2, rate, count) for noise, rate, count in spent], DELTA)
    assert rdp_epsilon(spent, DELTA) < replace_one_epsilon(spent, DELTA) <= half


@pytest.mark.parametrize("rows", [120, 400, 988])
def test_where_four_is_claimed_it_is_about_eight(rows: int) -> None:
    schedule = Schedule(rounds=7, steps=10 * -(-rows // 16), sample_rate=16 / rows, queries=1, score_fraction=0.1)
    spent = schedule.composition(calibrate(Budget(4.0, DELTA), schedule))
    assert 7.5 < replace_one_epsilon(spent, DELTA) < 9


def test_nothing_spent_is_nothing() -> None:
    assert replace_one_epsilon([], DELTA) == 0
