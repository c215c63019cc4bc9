"""From raw rows to model inputs, one client at a time.

A preparation sees the client's training rows and test rows and may learn from the training rows only. Those for
images and signals learn nothing at all: they are fixed formulas, the same at every client. So is `PublicScale`, which
takes the place of `standardise` where records must stay private: a mean over a site's rows is a message about them.
`LearnedScale` is learned once, from the training rows of all clients together, where clients are made up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float32]
Prepare = Callable[[Array, Array], tuple[Floats, Floats]]

LARGEST_STANDARDISED = 10.0  # a site with few rows may see next to no spread; its test rows must not explode


def as_given(train: Array, test: Array) -> tuple[Floats, Floats]:
    return _floats(train), _floats(test)


def pixels(train: Array, test: Array) -> tuple[Floats, Floats]:
    """Bytes 0..255, [n, h, w] or channels last, to [-1, 1] with channels first."""
    return _image(train), _image(test)


def standardise(train: Array, test: Array) -> tuple[Floats, Floats]:
    """Impute and standardise a table from this client's training rows."""
    return LearnedScale.from_rows(train)(train, test)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedScale:
    """How to impute and standardise a table, as learned from training rows.

    NaN becomes the lower median of the training rows (an observed value, so a category code stays a code). Then each
    column gets mean 0 and deviation 1 over the training rows; a constant column is only centred. A column the
    training rows never recorded is 0, the standardised mean, in training and test rows alike. The result is clipped
    to ±10.
    """

    recorded: Array
    middle: Array
    mean: Array
    deviation: Array

    @classmethod
    def from_rows(cls, train: Array) -> "LearnedScale":
        recorded = np.asarray(~np.isnan(train).all(axis=0))
        middle = np.zeros(train.shape[1])
        middle[recorded] = np.nanquantile(train[:, recorded], 0.5, axis=0, method="lower")
        filled = np.where(np.isnan(train), middle, train) if len(train) else middle[None]
        mean, deviation = filled.mean(axis=0), filled.std(axis=0)
        deviation[deviation < 1e-6 * np.maximum(1.0, np.abs(mean))] = 1.0
        return cls(recorded, middle, mean, deviation)

    def __call__(self, train: Array, test: Array) -> tuple[Floats, Floats]:
        return self._scaled(train), self._scaled(test)

    def _scaled(self, rows: Array) -> Floats:
        scaled = (np.where(np.isnan(rows), self.middle, rows) - self.mean) / self.deviation
        return _floats(np.where(self.recorded, np.clip(scaled, -LARGEST_STANDARDISED, LARGEST_STANDARDISED), 0.0))


@dataclass(frozen=True, slots=True)
class Range:
    """What is known of a column before anybody's rows are seen."""

    low: float
    high: float
    typical: float


@dataclass(frozen=True, slots=True)
class PublicScale:
    """Scale a table by public ranges: learns nothing, and is the same at every client.

    A value outside its range is moved to the range's end, a missing one to the typical value, which becomes 0. A width
    of 1 is the deviation of values spread evenly over the range.
    """

    columns: tuple[Range, ...]

    def __call__(self, train: Array, test: Array) -> tuple[Floats, Floats]:
        return self._scaled(train), self._scaled(test)

    def _scaled(self, rows: Array) -> Floats:
        low, high, typical = np.array([(c.low, c.high, c.typical) for c in self.columns]).T
        width = (high - low) / np.sqrt(12)
        return _floats(np.nan_to_num((np.clip(rows, low, high) - typical) / width, nan=0.0))


def learns_from_rows(prepare: Prepare) -> bool:
    """Whether a preparation carries something of sites' rows into what their models see."""
    return prepare is standardise or isinstance(prepare, LearnedScale)


def described(prepare: Prepare) -> str:
    """For people: which scale rows were put on, and where it came from."""
    if isinstance(prepare, LearnedScale):
        return "one scale for all sites, learned from all their training rows together"
    if isinstance(prepare, PublicScale):
        return "one scale for all sites, from public ranges"
    if prepare is standardise:
        return "a scale of its own at each site, learned from its training rows"
    return "pixels from -1 to 1" if prepare is pixels else "as given"


def _floats(rows: Array) -> Floats:
    return np.ascontiguousarray(rows, dtype=np.float32)


def _image(rows: Array) -> Floats:
    channels_first = rows[:, None] if rows.ndim == 3 else np.moveaxis(rows, -1, 1)
    return _floats(channels_first) / np.float32(127.5) - np.float32(1.0)
