"""Intervals against distributions worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.intervals import (
    Interval,
    SiteMean,
    bootstrap_difference,
    bootstrap_mean,
    bootstrap_rows,
    drawn_weights,
    poisson_weights,
    wilson,
)

NAN = float("nan")
numbers = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def test_a_rare_large_value_is_drawn_as_often_as_the_binomial_says():
    # The mean of a resample of (0, 0, 0, 4) is Binomial(4, 1/4): P(>= 3) = 0.051, P(4) = 0.004, P(0) = 0.316.
    assert bootstrap_mean([0, 0, 0, 4]) == SiteMean(1.0, 0.0, 3.0, 4)


def test_the_tails_are_two_and_a_half_percent():
    # Of (0, 0, 3) three large draws come with probability 1/27 = 0.037: inside 2.5 %, outside 5 %. Mirrored below.
    assert bootstrap_mean([0, 0, 3]).high == 3.0
    assert bootstrap_mean([0, 3, 3]).low == 0.0


def test_equal_sites_leave_no_doubt():
    found = bootstrap_mean([0.25] * 8)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_one_site_has_a_mean_but_no_interval():
    assert bootstrap_mean([0.4]) == SiteMean(0.4, None, None, 1)


def test_sites_without_the_number_do_not_count():
    assert bootstrap_mean([NAN, 0, 0, NAN, 0, 4]) == bootstrap_mean([0, 0, 0, 4])
    assert bootstrap_mean([NAN, NAN]) == SiteMean(None, None, None, 0)


def test_a_difference_is_paired():
    found = bootstrap_difference([0.9, 0.2, 0.6], [0.8, 0.1, 0.5])
    assert (found.low, found.mean, found.high) == pytest.approx((0.1, 0.1, 0.1))


@settings(deadline=None, max_examples=40)
@given(numbers)
def test_the_interval_lies_among_the_values_and_is_the_same_every_time(values):
    found = bootstrap_mean(values)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == bootstrap_mean(values)


@settings(deadline=None, max_examples=40)
@given(numbers, st.floats(-1, 1))
def test_moving_every_site_moves_the_interval(values, shift):
    here, there = bootstrap_mean(values), bootstrap_mean([value + shift for value in values])
    assert (there.low, there.high) == pytest.approx((here.low + shift, here.high + shift), abs=1e-9)


def test_draws_that_leave_the_number_undefined_do_not_count():
    found = Interval.from_resamples(2.0, np.array([NAN, 1.0, NAN, 3.0]))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 1.05, 2.95))
    assert found.to_json() == {"value": found.value, "low": found.low, "high": found.high}
    for nothing in (Interval.from_resamples(NAN, np.ones(3)), Interval.from_resamples(1.0, np.array([NAN]))):
        assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_every_draw_has_as_many_of_a_stratum_as_there_are():
    ill = np.array([True, True, False, True, False, False])
    weights = drawn_weights([ill, ~ill], np.random.default_rng(1), 50)
    assert set(weights[:, ill].sum(1)) == set(weights[:, ~ill].sum(1)) == {3.0}
    assert len({tuple(row) for row in weights.tolist()}) > 10


def test_members_of_a_poisson_draw_are_drawn_once_on_average():
    weights = poisson_weights(400, np.random.default_rng(1), 200)
    assert weights.shape == (200, 400)
    assert weights.mean() == pytest.approx(1, abs=0.02)


def test_rows_are_drawn_whole_and_as_many_as_there_are():
    values = np.array([0.0, 0.0, 0.0, 4.0])  # the mean of a draw of four: P(>= 3) = 0.051, P(4) = 0.004, P(0) = 0.316
    found = bootstrap_rows(lambda rows: float(values[rows].mean()), 4)
    assert (found.value, found.low, found.high) == (1.0, 0.0, 3.0)
    assert np.isnan(bootstrap_rows(lambda rows: 1.0, 0).value)


def test_wilson_by_hand():
    """40 of 100 at 95 %, as tabulated: 0.309 to 0.498; none of ten reaches to 0.278, and is never below nothing."""
    assert wilson(0.4, 100) == pytest.approx((0.3094, 0.4980), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(1.0, 10)[1] == pytest.approx(1.0)
