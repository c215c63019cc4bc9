"""What is left out cannot be computed from what is shown: held against every table a reader could think of."""

import numpy as np
import pytest

from secure_sapefl.data.tables.small_cells import Grid, Mask, given_away, hidden_cells

SMALLEST = 3


def with_sums(counts: list[list[int]]) -> Grid:
    cells = np.array(counts)
    return np.column_stack([cells.sum(1), cells])


def test_a_small_cell_is_not_told_by_the_other_class() -> None:
    """Two ill men of 30: 28 in the other class and 30 together would tell."""
    counts = with_sums([[28, 2], [40, 50], [60, 70]])
    hidden = hidden_cells(counts, [False] * 3, SMALLEST)
    assert hidden[0, 2]
    assert hidden[0].sum() >= 2
    assert hidden[:, 2].sum() >= 2
    assert not hidden.all()


def test_two_that_are_one_each_are_not_told_by_their_sum() -> None:
    """2 records of two levels, neither of which has none: each would have one."""
    for counts in ([[1, 1], [1, 1], [30, 30]], [[1, 10], [1, 12], [10, 20]], [[1, 1, 10], [10, 10, 20], [0, 9, 9]]):
        table = with_sums(counts)
        hidden = hidden_cells(table, [False] * table.shape[1], SMALLEST)
        whole = np.vstack([table, table.sum(0)])
        assert not given_away(np.vstack([hidden, [False] * table.shape[1]]), whole).any()


def test_without_small_cells_everything_is_shown() -> None:
    assert not hidden_cells(with_sums([[5, 0], [7, 9]]), [False] * 3, SMALLEST).any()


def test_what_no_table_shows_anyway_is_left_out_first() -> None:
    """Records with a value stand in no line: only the missing ones of the other class have to go."""
    hidden = hidden_cells(with_sums([[8, 2], [30, 30]]), [False] * 3, SMALLEST, unseen=(1,))
    assert hidden[0].tolist() == [False, True, True]


def test_a_cell_alone_in_a_row_or_a_column_is_given_away() -> None:
    hidden = np.zeros((3, 3), bool)
    hidden[0, 1] = hidden[0, 2] = hidden[1, 1] = hidden[1, 2] = True
    many = np.full((3, 3), 9)
    assert not given_away(hidden, many).any()
    hidden[1, 2] = False  # the last one of a ring, and all others follow one after the other
    assert (given_away(hidden, many) == hidden).all()


def possible(counts: Grid, hidden: Mask, totals: list[bool]) -> Grid:
    """All tables of two levels and two classes, up to 8 a cell, that look the same."""
    tables = np.indices((9,) * 4).reshape(4, -1).T.reshape(-1, 2, 2)
    whole = np.concatenate([tables.sum(2, keepdims=True), tables], axis=2)
    seen = np.where(hidden, -1, counts)
    alike = (np.where(hidden, -1, whole) == seen).all((1, 2))
    known = ~np.array(totals)
    alike &= ((whole > 0) | ~hidden).all((1, 2)) | bool((counts[hidden] == 0).any())  # 0 is shown, unless it has to go
    alike &= (whole.sum(1)[:, known] == counts.sum(0)[known]).all(1)
    return whole[alike]


@pytest.mark.parametrize("seed", range(40))
def test_every_small_cell_could_be_another_number(seed: int) -> None:
    counts = with_sums(np.random.default_rng(seed).integers(0, 8, (2, 2)).tolist())
    totals = [False, *((counts.sum(0)[1:] > 0) & (counts.sum(0)[1:] < SMALLEST))]
    totals = [False] + [any(totals)] * 2
    hidden = hidden_cells(counts, totals, SMALLEST)
    tables = possible(counts, hidden, totals)
    for row, column in np.argwhere((counts > 0) & (counts < SMALLEST)):
        assert len(np.unique(tables[:, row, column])) > 1
