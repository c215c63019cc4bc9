"""The bootstrap over sites, against distributions worked out by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.report.interval import Interval, bootstrap_difference, bootstrap_mean

NAN = float("nan")
numbers = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def test_a_rare_large_value_is_drawn_as_often_as_the_binomial_says():
    # The mean of a resample of (0, 0, 0, 4) is Binomial(4, 1/4): P(>= 3) = 0.051, P(4) = 0.004, P(0) = 0.316.
    assert bootstrap_mean([0, 0, 0, 4]) == Interval(1.0, 0.0, 3.0, 4)


def test_the_tails_are_two_and_a_half_percent():
    # Of (0, 0, 3) three large draws come with probability 1/27 = 0.037: inside 2.5 %, outside 5 %. Mirrored below.
    assert bootstrap_mean([0, 0, 3]).high == 3.0
    assert bootstrap_mean([0, 3, 3]).low == 0.0


def test_equal_sites_leave_no_doubt():
    found = bootstrap_mean([0.25] * 8)
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_one_site_has_a_mean_but_no_interval():
    assert bootstrap_mean([0.4]) == Interval(0.4, None, None, 1)


def test_sites_without_the_number_do_not_count():
    assert bootstrap_mean([NAN, 0, 0, NAN, 0, 4]) == bootstrap_mean([0, 0, 0, 4])
    assert bootstrap_mean([NAN, NAN]) == Interval(None, None, None, 0)


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
