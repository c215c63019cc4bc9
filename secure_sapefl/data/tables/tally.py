"""What a site counts of its table for a common one: per class and column, on ranges and levels that are public.

Of a number or day: how many are missing, the sum of its places on the range and of their squares (a place is one of
4,096 steps), and a histogram of 64 bins. Of a category: how many are missing, and of each level. Values outside a range
count at its end. One record adds one to exactly one of the missing count and the bins (or levels) of each column.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.prepare import Range
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.schema import Feature, Measured, TableSchema
from secure_sapefl.errors import BadInput

Counts = NDArray[np.int64]
BINS: Final = 64
STEPS: Final = 4095
_SUMS: Final = 2  # the sum of places, the sum of their squares


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of one class (or of all of them together) of one column."""

    missing: int
    places: int  # sum of them; 0 for a category
    squares: int
    cells: Counts  # bins or levels

    @property
    def present(self) -> int:
        return int(self.cells.sum())


def width(feature: Feature) -> int:
    return 1 + (_SUMS + BINS if isinstance(feature, Measured) else feature.columns)


def entries(schema: TableSchema) -> int:
    return len(schema.classes) * sum(map(width, schema.features))


def counted(table: Table, schema: TableSchema, rows: NDArray[np.bool_]) -> Counts:
    """The chosen rows' counts, class by class and column by column."""
    parts = []
    for label in range(len(schema.classes)):
        chosen = rows & (table.y == label)
        parts += [_of(feature, table.X[chosen, place]) for place, feature in enumerate(schema.features)]
    return np.concatenate(parts)


def count_only(schema: TableSchema) -> NDArray[np.bool_]:
    """Which entries count records; the others are sums, which noise for a record would drown."""
    one_class = [
        [True, *([False] * _SUMS + [True] * BINS if isinstance(one, Measured) else [True] * one.columns)]
        for one in schema.features
    ]
    return np.array([entry for one in one_class for entry in one] * len(schema.classes))


def read(totals: Counts, schema: TableSchema) -> tuple[tuple[Tally, ...], ...]:
    """[class][column], as `counted` laid them out."""
    found, at = [], 0
    for _ in schema.classes:
        row = []
        for feature in schema.features:
            part = totals[at : at + width(feature)]
            at += width(feature)
            row.append(_tally(feature, part))
        found.append(tuple(row))
    return tuple(found)


def together(tallies: tuple[Tally, ...]) -> Tally:
    return Tally(
        missing=sum(one.missing for one in tallies),
        places=sum(one.places for one in tallies),
        squares=sum(one.squares for one in tallies),
        cells=np.sum([one.cells for one in tallies], axis=0),
    )


def range_of(feature: Measured) -> Range:
    if feature.range is None:
        raise BadInput(f"Column {feature.name!r} has no range; a common table needs public ones. Give it low and high.")
    return feature.range


def _of(feature: Feature, values: NDArray[np.float64]) -> Counts:
    known = values[~np.isnan(values)]
    missing = [len(values) - len(known)]
    if not isinstance(feature, Measured):
        return np.concatenate([missing, np.bincount(known.astype(np.int64), minlength=feature.columns)])
    allowed = range_of(feature)
    share = np.clip((known - allowed.low) / (allowed.high - allowed.low), 0, 1)
    places = np.rint(share * STEPS).astype(np.int64)
    bins = np.minimum((share * BINS).astype(np.int64), BINS - 1)
    return np.concatenate([missing, [places.sum(), (places**2).sum()], np.bincount(bins, minlength=BINS)])


def _tally(feature: Feature, part: Counts) -> Tally:
    sums = part[1:3] if isinstance(feature, Measured) else np.zeros(_SUMS, np.int64)
    cells = part[1 + _SUMS :] if isinstance(feature, Measured) else part[1:]
    return Tally(missing=int(part[0]), places=int(sums[0]), squares=int(sums[1]), cells=cells)
