"""What a site counts of its table for a common one: per class and column, on ranges and levels that are public.

Of a number or day: how many are missing, the sum of its places on the range and of their squares (a place is one of
4,096 steps), and a histogram of 64 bins. Of a category: how many are missing, and of each level. Values outside a range
count at its end. One record adds one to exactly one of the missing count and the bins (or levels) of each column.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.prepare import Range
from secure_sapefl.data.tables.features import Feature, Measured
from secure_sapefl.data.tables.schema import TableSchema
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

    def moments(self, *, noised: bool) -> tuple[float, float]:
        """Mean and deviation on a range from 0 to 1; from the histogram where noise has drowned the sums."""
        cells = np.maximum(self.cells, 0)
        if not noised:
            mean = self.places / self.present / STEPS
            return mean, sqrt(max(0.0, self.squares / self.present / STEPS**2 - mean**2))
        middles = (np.arange(BINS) + 0.5) / BINS
        mean = float(np.average(middles, weights=cells))
        return mean, sqrt(max(0.0, float(np.average((middles - mean) ** 2, weights=cells))))

    def quantile(self, share: float) -> float:
        """On a range from 0 to 1, with records spread evenly in a bin."""
        cells = np.maximum(self.cells, 0)
        upto = np.concatenate([[0], np.cumsum(cells)])
        wanted = share * upto[-1]
        place = min(int(np.searchsorted(upto, wanted, side="right")) - 1, BINS - 1)
        return float((place + (wanted - upto[place]) / max(1, int(cells[place]))) / BINS)


@dataclass(frozen=True, slots=True)
class CountPlan:
    """What is counted of a table: its columns, apart for each of so many classes or, with one, whatever the class."""

    features: tuple[Feature, ...]
    classes: int = 1

    @property
    def entries(self) -> int:
        return self.classes * sum(map(_width, self.features))

    @property
    def of_records(self) -> NDArray[np.bool_]:
        """Which entries count records; the others are sums, which noise for a record would drown."""
        sums = [False] * _SUMS
        one_class = [
            [True, *(sums + [True] * BINS if isinstance(one, Measured) else [True] * one.columns)]
            for one in self.features
        ]
        return np.array([entry for one in one_class for entry in one] * self.classes)

    def counted(self, X: NDArray[np.float64], y: NDArray[np.int64] | None = None) -> Counts:
        """Class by class and column by column."""
        parts = [X] if y is None else [X[y == label] for label in range(self.classes)]
        assert len(parts) == self.classes, "a count by class needs the class of every row"
        return np.concatenate([_counts(one, part[:, k]) for part in parts for k, one in enumerate(self.features)])

    def read(self, totals: Counts) -> tuple[tuple[Tally, ...], ...]:
        """[class][column], as `counted` laid them out."""
        ends = np.cumsum([_width(feature) for feature in self.features])[:-1]
        return tuple(tuple(map(_tally, self.features, np.split(part, ends))) for part in np.split(totals, self.classes))


def by_class(schema: TableSchema) -> CountPlan:
    """For a Table 1."""
    if not schema.classes:
        raise BadInput(f"A common table is made class by class, and {schema.label!r} has no classes.")
    return CountPlan(schema.features, len(schema.classes))


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


def _width(feature: Feature) -> int:
    return 1 + (_SUMS + BINS if isinstance(feature, Measured) else feature.columns)


def _counts(feature: Feature, values: NDArray[np.float64]) -> Counts:
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
