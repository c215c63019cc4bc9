"""Eighty to twenty inside a client."""

import numpy as np
import pytest

from secure_sapefl.data.split import split_rows
from secure_sapefl.data.table import Units


def divide(table, seed=0):
    rows = np.arange(len(table))
    return split_rows(table, Units.from_table(table), rows, np.random.default_rng(seed))


def test_each_class_gives_a_fifth(make_table):
    table = make_table([0] * 50 + [1] * 10)
    train, test = divide(table)
    assert np.bincount(table.y[test]).tolist() == [10, 2]
    assert np.bincount(table.y[train]).tolist() == [40, 8]


@pytest.mark.parametrize("seed", range(10))
def test_what_rounding_leaves_over_is_carried_to_the_next_class(make_table, seed):
    """Five classes of three rows want 0.6 each: three in all, not five and not none."""
    _, test = divide(make_table([0, 1, 2, 3, 4] * 3), seed)
    assert len(test) == 3


def test_a_class_with_one_row_stays_in_training(make_table):
    """Even after several such classes have carried their fifths along."""
    table = make_table([0] * 20 + [1, 2, 3, 4, 5, 6])
    assert all(set(table.y[divide(table, seed)[1]]) == {0} for seed in range(20))


def test_a_client_of_single_rows_still_tests_one(make_table):
    train, test = divide(make_table([0, 1, 2]))
    assert (len(train), len(test)) == (2, 1)


def test_segments_stay_whole_and_near_a_fifth(make_table):
    table = make_table([0] * 100, segment=np.repeat(np.arange(10), 10))
    train, test = divide(table)
    assert len(test) == 20
    assert not set(table.segment[train]) & set(table.segment[test])


def test_a_given_split_is_used_as_given(make_table):
    table = make_table([0, 1, 0, 1], split=np.array([1, 0, 0, 1]))
    train, test = divide(table)
    assert (train.tolist(), test.tolist()) == ([1, 2], [0, 3])
