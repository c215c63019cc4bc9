"""Known answers for the numbers a comparison rests on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from secure_sapefl.experiments.statistics import Estimate, paired_p, placements, ranks
from secure_sapefl.intervals import holm

NAN = float("nan")


def test_the_spread_is_over_seeds_of_the_mean_over_clients() -> None:
    estimate = Estimate.over_seeds([[0.5, 0.7], [0.8, 1.0]])  # means 0.6 and 0.9
    assert estimate.mean == pytest.approx(0.75)
    assert estimate.std == pytest.approx(0.3 / math.sqrt(2))  # sample deviation of two numbers 0.3 apart


def test_one_seed_has_no_spread_and_undefined_clients_are_left_out() -> None:
    assert Estimate.over_seeds([[0.4, NAN, 0.6]]) == Estimate(0.5, None)
    assert math.isnan(Estimate.over_seeds([[NAN]]).mean)


def test_equal_means_share_a_rank_and_undefined_ones_come_last() -> None:
    assert ranks([0.7, 0.9, 0.7, NAN, 0.8]) == [3, 1, 3, 5, 2]


def test_wilcoxon_by_hand() -> None:
    """Ten differences 1..10, all positive: W = 0 against a mean of 27.5 and a variance of 10 * 11 * 21 / 24."""
    first, second = [np.arange(1.0, 11.0).tolist()], [[0.0] * 10]
    z = 27.5 / math.sqrt(10 * 11 * 21 / 24)
    assert paired_p(first, second) == pytest.approx(2 * norm.sf(z))


def test_a_tie_counts_half_for_either_side() -> None:
    """Differences 0, 0, 0, 1, 2, 3: W = 4 + 5 + 6 + 6 / 2 = 18, mean 10.5, variance 6 * 7 * 13 / 24 - (27 - 3) / 48."""
    z = (18 - 10.5) / math.sqrt(6 * 7 * 13 / 24 - (27 - 3) / 48)
    assert paired_p([[0, 0, 0, 1, 2, 3]], [[0] * 6]) == pytest.approx(2 * norm.sf(z))


def test_differences_that_only_rounding_tells_apart_tie() -> None:
    assert 0.8 - 0.7 != 0.3 - 0.2
    assert paired_p([[0.8, 0.3, 0.2]], [[0.7, 0.2, 0.3]]) == paired_p([[1, 1, 0]], [[0, 0, 1]])


def test_pairs_without_a_number_do_not_count_and_no_difference_is_no_evidence() -> None:
    assert paired_p([[0.5, NAN, 0.7]], [[0.5, 0.1, 0.7]]) == 1.0
    assert paired_p([[NAN]], [[0.3]]) == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(a >= raw and a <= 1 for a, raw in zip(adjusted, p, strict=True))
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(np.asarray(adjusted)[order]) >= 0)


def test_everybody_meets_the_best_and_the_best_meets_the_second() -> None:
    base = np.linspace(0.4, 0.6, 30)
    wobble = np.where(np.arange(30) % 2, 0.001, -0.001) * (1 + np.arange(30) // 2) + 0.0001  # mostly cancels
    table = placements(
        {
            "low": [(base - 0.2).tolist()],
            "top": [(base + 0.1).tolist()],
            "near": [(base + 0.1 - wobble).tolist()],
        }
    )
    assert [table[name].rank for name in ("top", "near", "low")] == [1, 2, 3]
    top, near, low = (table[name].duel for name in ("top", "near", "low"))
    assert top is not None
    assert near is not None
    assert low is not None
    assert (top.rival, near.rival, low.rival) == ("near", "top", "top")
    assert low.difference == pytest.approx(-0.3)
    assert top.difference == pytest.approx(-near.difference)
    assert (low.beyond_noise, near.beyond_noise, top.beyond_noise) == (True, False, False)
    assert low.p_holm == pytest.approx(2 * low.p)  # two tests in the family


def test_a_method_alone_has_nobody_to_meet() -> None:
    assert placements({"only": [[0.5, 0.6]]})["only"].duel is None
