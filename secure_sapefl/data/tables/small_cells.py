"""Which counts of a table are not shown: small ones, and others from which a small one would follow.

Levels by classes, with the sums of both that readers know: a cell left out alone in its row or column is the sum less
the others. So a cell counts as left out only if no equation of the table gives it, all of them taken together.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Grid = NDArray[np.int64]
Mask = NDArray[np.bool_]
_EXACT: Final = 1e-9


def hidden_cells(counts: Grid, totals_hidden: Sequence[bool], smallest: int, *, unseen: Sequence[int] = ()) -> Mask:
    """Of ``counts`` [levels, 1 + classes], the sum over classes first, what is not to be shown.

    Their sums over levels are known, but for ``totals_hidden``. Levels in ``unseen`` stand in no table anyway.
    """
    whole = np.vstack([counts, counts.sum(0)])
    small = (whole > 0) & (whole < smallest)
    small[-1] = totals_hidden
    hidden = small.copy()
    hidden[list(unseen)] = True
    while (small & (told := given_away(hidden))).any() and len(spare := _beside(told, whole, hidden)):
        hidden[tuple(min(spare, key=lambda place: whole[tuple(place)]))] = True
    return hidden[:-1]


def _beside(told: Mask, whole: Grid, hidden: Mask) -> Grid:
    """Places that could be left out as well: in rows or columns of cells that are told as it is, and no total."""
    beside = told.any(1, keepdims=True) | told.any(0, keepdims=True)
    free = ~hidden & (whole > 0) & beside
    free[-1] = False
    return np.argwhere(free)


def given_away(hidden: Mask) -> Mask:
    """The hidden cells that follow from all others. Cells are [levels and their total, all and each class]."""
    places, told = np.argwhere(hidden), np.zeros(hidden.shape, bool)
    if not len(places):
        return told
    rows, columns = hidden.shape
    equations = np.zeros((rows + columns, len(places)))
    for k, (row, column) in enumerate(places):
        equations[row, k] = -1 if column == 0 else 1
        equations[rows + column, k] = -1 if row == rows - 1 else 1
    _, sizes, directions = np.linalg.svd(equations, full_matrices=False)
    known = np.square(directions[sizes > _EXACT]).sum(0) > 1 - _EXACT  # a cell's own direction is among them
    told[tuple(places[known].T)] = True
    return told
