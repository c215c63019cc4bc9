"""Which counts of a table are not shown: small ones, and others from which a small one would follow.

Levels by classes, with the sums of both that readers know: a cell left out alone in its row or column is the sum less
the others. And two that are left out, neither of them 0, are 1 each where their sum is 2. So a cell counts as left out
only if another table, with other numbers in it, would look the same.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Grid = NDArray[np.int64]
Mask = NDArray[np.bool_]
Node = tuple[str, int]


def hidden_cells(counts: Grid, totals_hidden: Sequence[bool], smallest: int, *, unseen: Sequence[int] = ()) -> Mask:
    """Of ``counts`` [levels, 1 + classes], the sum over classes first, what is not to be shown.

    Their sums over levels are known, but for ``totals_hidden``. Levels in ``unseen`` stand in no table anyway.
    """
    whole = np.vstack([counts, counts.sum(0)])
    small = (whole > 0) & (whole < smallest)
    small[-1] = totals_hidden
    hidden = small.copy()
    hidden[list(unseen)] = True
    while (small & (revealed := given_away(hidden, whole))).any() and len(spare := _beside(revealed, hidden)):
        hidden[tuple(min(spare, key=lambda place: whole[tuple(place)] or np.inf))] = True
    return hidden[:-1]


def _beside(revealed: Mask, hidden: Mask) -> Grid:
    """Places that could be left out as well: in rows or columns of cells that are revealed as it is, and no total."""
    free = ~hidden & (revealed.any(1, keepdims=True) | revealed.any(0, keepdims=True))
    free[-1] = False
    return np.argwhere(free)


def given_away(hidden: Mask, whole: Grid) -> Mask:
    """The hidden cells that follow from all others. Cells are [levels and their total, all and each class].

    Rows and columns are the nodes of a graph, and a hidden cell joins two of them. One more in a cell has to be made up
    for by others, along a circle; a cell on no circle is revealed. Where none is 0, none can be less than 1.
    """
    places = [(int(row), int(column)) for row, column in np.argwhere(hidden)]
    revealed = np.zeros(hidden.shape, bool)
    least = int(all(whole[place] > 0 for place in places))  # 0 is shown, unless one had to be hidden
    ways: dict[Node, set[Node]] = defaultdict(set)
    for place in places:
        start, end = _ends(place, len(whole) - 1)
        ways[start].add(end)  # one more
        if whole[place] > least:
            ways[end].add(start)  # one less
    for place in places:
        start, end = _ends(place, len(whole) - 1)
        more, less = _leads(ways, end, start), whole[place] > least and _leads(ways, start, end)
        revealed[place] = not (more or less)
    return revealed


def _ends(place: tuple[int, int], last: int) -> tuple[Node, Node]:
    """The nodes of a cell's row and column, in the direction of one more: sums count the other way round."""
    row, column = ("row", place[0]), ("column", place[1])
    return (row, column) if (place[0] == last) == (place[1] == 0) else (column, row)


def _leads(ways: Mapping[Node, set[Node]], start: Node, goal: Node) -> bool:
    """Whether a way goes from one node to another, by others in between."""
    seen, open_ends = {start, goal}, list(ways[start] - {goal})
    while open_ends:
        node = open_ends.pop()
        if goal in ways[node]:
            return True
        seen.add(node)
        open_ends += ways[node] - seen
    return False
