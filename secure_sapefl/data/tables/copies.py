"""Records that stand in a table twice, within a site or at several, and are not equal by chance.

In a table of few coarse columns people are alike who are not the same. How many pairs chance makes is estimated twice,
and the larger number counts: from the columns, as if none depended on another; and from pairs that differ in a single
column, whatever the others have to do with each other.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.tables.examined import Codes, Examined, Finding, Floats

FEWEST_SHARED: Final = 3  # from here on a run is stopped
IF_INDEPENDENT: Final = 10  # times as many twins are no surprise yet: columns depend on each other
BY_NEIGHBOURS: Final = 3  # the same of what neighbours say, who are few
_FEWEST_NEIGHBOURS: Final = 10  # pairs; below, they may be copies that somebody corrected


def copies(table: Examined) -> Iterator[Finding]:
    rows = [row.tobytes() + label.tobytes() for row, label in zip(table.X + 0.0, table.y, strict=True)]
    twins = len(rows) - len(set(rows))
    if not twins or twins <= _no_surprise(table):
        return
    groups = np.zeros(len(rows), np.int64) if table.group is None else table.group
    within = sum(count - 1 for count in Counter(zip(rows, groups.tolist(), strict=True)).values())
    if within:
        says = f"{within:,} records are exact copies of another of the same site"
        yield Finding(kind="duplicates", column=table.label, says=f"with all others, {says}")
    homes = defaultdict(set)
    for row, group in zip(rows, groups.tolist(), strict=True):
        homes[row].add(group)
    between = sum(len(found) > 1 for found in homes.values())
    if between:
        says = f"{between:,} records stand at several sites, word for word: one may test on what another trains on"
        yield Finding(kind="shared", column=table.site, says=says, dangerous=between >= FEWEST_SHARED)


def _no_surprise(table: Examined) -> float:
    """So many twins may be chance, of columns like those of the distinct records, whatever their labels."""
    distinct = list({row.tobytes(): place for place, row in enumerate(table.X + 0.0)}.values())
    columns = [*table.X.T, table.y.astype(np.float64)]
    alike = [_alike(column[distinct]) for column in columns]
    independent = len(table.y) ** 2 / 2 * math.prod(alike)
    return max(IF_INDEPENDENT * independent, BY_NEIGHBOURS * _by_neighbours(columns, alike))


def _alike(column: Floats) -> float:
    """The chance that two records have the same value."""
    counts, n = np.unique(column, return_counts=True)[1], len(column)
    return float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))


def _by_neighbours(columns: Sequence[Floats], alike: Sequence[float]) -> float:
    """Pairs of equal records, had those that are equal but for one column drawn that one by chance:

    equal / (equal + neighbours) = alike    of the column that explains most
    """
    keys = [_keys(column, place) for place, column in enumerate(columns)]
    whole = np.add.reduce(keys)
    equal = _pairs(whole)
    explained = 0.0
    for key, chance in zip(keys[:-1], alike[:-1], strict=True):  # not the label: of a copy it may be another's word
        neighbours = _pairs(whole - key) - equal
        if neighbours >= _FEWEST_NEIGHBOURS and chance < 1:
            explained = max(explained, neighbours * chance / (1 - chance))
    return explained


def _keys(column: Floats, place: int) -> NDArray[np.uint64]:
    """A random number for each value of a column; sums of them tell records apart."""
    codes = np.unique(column, return_inverse=True)[1]
    return np.random.default_rng(place).integers(0, 2**64, len(column), np.uint64)[codes]


def _pairs(keys: NDArray[np.uint64]) -> int:
    counts: Codes = np.unique(keys, return_counts=True)[1]
    return int((counts * (counts - 1)).sum()) // 2
