"""Columns that tell the label by themselves: equal or nearly equal to it, in its order, or recorded with it."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from secure_sapefl.data.tables.examined import FEWEST_ROWS, MOST_CLASSES, Codes, Examined, Finding, Floats
from secure_sapefl.metrics import average_ranks

ALMOST: Final = 0.995
FEWEST_OF_A_CLASS: Final = 5  # below, a column may tell a class by chance


def leaks(table: Examined) -> Iterator[Finding]:
    y = table.one_spelling if table.target is None else table.y
    for place, name in enumerate(table.names):
        values = table.X[:, place]
        known = ~np.isnan(values)
        if (told := _told(values[known], y[known])) is not None:
            same = "equal" if told == 1 else "nearly equal"
            says = f"{same} to the label {table.label!r}: it tells the class of {told:.1%} of the records by itself"
            yield Finding(kind="label", column=name, says=says, dangerous=True)
        elif (told := _told(known.astype(np.float64), y)) is not None:
            says = f"whether it is recorded tells the label {table.label!r} of {told:.1%} of the records by itself"
            yield Finding(kind="label", column=name, says=says, dangerous=True)


def _told(values: Floats, y: Codes) -> float | None:
    """How many records' class a column tells, if that is nearly all of them and not because most are of one class."""
    counts = np.bincount(y) if len(y) else np.zeros(1)
    rare = 1 - counts.max() / max(len(y), 1)  # what always naming the most frequent class gets wrong
    if len(y) < FEWEST_ROWS or rare * len(y) < FEWEST_OF_A_CLASS:
        return None
    told = _tells(values, y)
    return told if told >= ALMOST and 1 - told <= 0.1 * rare else None


def follows(table: Examined) -> Iterator[Finding]:
    """Columns whose order is that of a label that is a number."""
    if table.target is None:
        return
    for place, name in enumerate(table.names):
        known = ~np.isnan(table.X[:, place])
        values, target = table.X[known, place], table.target[known]
        if len(values) < FEWEST_ROWS or min(len(np.unique(values)), len(np.unique(target))) <= MOST_CLASSES:
            continue
        alike = abs(float(np.corrcoef(average_ranks(values), average_ranks(target))[0, 1]))
        if alike >= ALMOST:
            says = (
                f"in the same order as the label {table.label!r} (rank correlation {alike:.3f}): it tells it by itself"
            )
            yield Finding(kind="label", column=name, says=says, dangerous=True)


def _tells(values: Floats, y: Codes) -> float:
    """How many records' class a column tells: by value where values are few; of two classes by its ROC curve; of more
    by how seldom the class changes along the column."""
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= MOST_CLASSES:
        counts = np.zeros((len(distinct), int(y.max()) + 1))
        np.add.at(counts, (codes, y), 1)
        return float(counts.max(axis=1).sum() / len(y)) if len(distinct) > 1 else 0.0
    classes = len(np.unique(y))
    if classes > 2:
        mixed = np.random.default_rng(0).permutation(len(y))  # equal values in no order of their classes
        along = y[mixed][np.argsort(values[mixed], kind="stable")]
        changes = int((along[1:] != along[:-1]).sum())
        return 1 - max(changes - classes + 1, 0) / (2 * len(y))
    positive, ranks = y == y.max(), average_ranks(values)
    count = int(positive.sum())
    area = (ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(y) - count))
    return float(max(area, 1 - area))
