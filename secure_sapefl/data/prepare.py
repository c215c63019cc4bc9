"""From raw rows to model inputs, one site at a time.

A preparation sees the site's training rows and test rows and may learn from the training rows only. Those for
images and signals learn nothing at all: they are fixed formulas, the same at every site. So is `PublicScale`, which
takes the place of `standardise` where records must stay private: a mean over a site's rows is a message about them.
`LearnedScale` is learned once, from the training rows of all sites together, where sites are made up.

A preparation can say what it does in numbers that a JSON file can hold, its recipe: whoever uses a model elsewhere has
to prepare records alike. A recipe's ``formula`` says in NumPy's words what to do with them; arithmetic is in float64,
and the result becomes float32.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float32]
Prepare = Callable[[Array, Array], tuple[Floats, Floats]]
Recipe = Mapping[str, Any]

AS_GIVEN: Final[Recipe] = MappingProxyType({"kind": "as given", "formula": "x"})
PIXELS: Final[Recipe] = MappingProxyType(
    {"kind": "pixels", "formula": "channels first (x[:, None], or moveaxis(x, -1, 1)), float32, x / 127.5 - 1"}
)
LARGEST_STANDARDISED = 10.0  # a site with few rows may see next to no spread; its test rows must not explode


def as_given(train: Array, test: Array) -> tuple[Floats, Floats]:
    return _floats(train), _floats(test)


def pixels(train: Array, test: Array) -> tuple[Floats, Floats]:
    """Bytes 0..255, [n, h, w] or channels last, to [-1, 1] with channels first."""
    return _image(train), _image(test)


def standardise(train: Array, test: Array) -> tuple[Floats, Floats]:
    """Impute and standardise a table from this site's training rows."""
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

    def recipe(self, _: Array) -> Recipe:
        return {
            "kind": "standardise",
            "formula": "where(recorded, clip((where(isnan(x), impute, x) - mean) / deviation, -clip, clip), 0)",
            "recorded": self.recorded.tolist(),
            "impute": self.middle.tolist(),
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "clip": LARGEST_STANDARDISED,
        }

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
    """Scale a table by public ranges: learns nothing, and is the same at every site.

    A value outside its range is moved to the range's end, a missing one to the typical value, which becomes 0. A width
    of 1 is the deviation of values spread evenly over the range.
    """

    columns: tuple[Range, ...]

    def __call__(self, train: Array, test: Array) -> tuple[Floats, Floats]:
        return self._scaled(train), self._scaled(test)

    def recipe(self, _: Array) -> Recipe:
        columns = [asdict(column) for column in self.columns]
        return {
            "kind": "ranges",
            "formula": "nan_to_num((clip(x, low, high) - typical) / ((high - low) / sqrt(12)), nan=0)",
            **{name: [column[name] for column in columns] for name in ("low", "high", "typical")},
        }

    def _scaled(self, rows: Array) -> Floats:
        low, high, typical = np.array([(c.low, c.high, c.typical) for c in self.columns]).T
        width = (high - low) / np.sqrt(12)
        return _floats(np.nan_to_num((np.clip(rows, low, high) - typical) / width, nan=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class MixedColumns:
    """Numbers by a scale of theirs, then a column of 0 and 1 for each level of each category; missing is no level."""

    columns: tuple[tuple[str, tuple[str, ...]], ...]  # the name and the levels of each; a column of numbers has none
    scale: Prepare

    def __call__(self, train: Array, test: Array) -> tuple[Floats, Floats]:
        numbers = self.scale(train[:, self.numeric], test[:, self.numeric])
        first, second = (
            np.ascontiguousarray(np.concatenate((scaled, *self._one_hot(rows)), axis=1))
            for scaled, rows in zip(numbers, (train, test), strict=True)
        )
        return first, second

    @property
    def numeric(self) -> list[bool]:
        return [not levels for _, levels in self.columns]

    def learned(self, train: Array) -> "MixedColumns":
        """The same with one scale from these rows, for all sites."""
        return MixedColumns(self.columns, LearnedScale.from_rows(train[:, self.numeric]))

    def recipe(self, train: Array) -> Recipe:
        """Of the columns as a site's file has them; days count from a date's reference, no and yes are levels."""
        return {
            "kind": "table",
            "formula": "concatenate(numbers by their formula, (column == level) for each level of each category)",
            "numbers": {
                "columns": [name for name, levels in self.columns if not levels],
                **recipe_of(self.scale, train[:, self.numeric]),
            },
            "categories": {name: list(levels) for name, levels in self.columns if levels},
        }

    def _one_hot(self, rows: Array) -> list[Floats]:
        counts = [(place, len(levels)) for place, (_, levels) in enumerate(self.columns) if levels]
        return [(rows[:, place, None] == np.arange(count)).astype(np.float32) for place, count in counts]


def learns_from_rows(prepare: Prepare) -> bool:
    """Whether a preparation carries something of sites' rows into what their models see."""
    if isinstance(prepare, MixedColumns):
        return learns_from_rows(prepare.scale)
    return prepare is standardise or isinstance(prepare, LearnedScale)


def described(prepare: Prepare) -> str:
    """For people: which scale rows were put on, and where it came from."""
    if isinstance(prepare, MixedColumns):
        return f"{described(prepare.scale)}; categories as columns of 0 and 1"
    if isinstance(prepare, LearnedScale):
        return "one scale for all sites, learned from all their training rows together"
    if isinstance(prepare, PublicScale):
        return "one scale for all sites, from public ranges"
    if prepare is standardise:
        return "a scale of its own at each site, learned from its training rows"
    return "pixels from -1 to 1" if prepare is pixels else "as given"


@runtime_checkable
class KnowsItsRecipe(Protocol):
    def recipe(self, train: Array, /) -> Recipe:
        """``train`` are the raw training rows, the only ones a preparation may learn from."""


def recipe_of(prepare: Prepare, train: Array) -> Recipe:
    """What ``prepare`` does to the rows of a site whose raw training rows are ``train``."""
    if prepare is standardise:
        return LearnedScale.from_rows(train).recipe(train)
    if isinstance(prepare, KnowsItsRecipe):
        return prepare.recipe(train)
    if prepare in (pixels, as_given):
        return PIXELS if prepare is pixels else AS_GIVEN
    return {"kind": "code", "formula": None, "words": f"prepared by {getattr(prepare, '__qualname__', 'own code')}"}


def _floats(rows: Array) -> Floats:
    return np.ascontiguousarray(rows, dtype=np.float32)


def _image(rows: Array) -> Floats:
    channels_first = rows[:, None] if rows.ndim == 3 else np.moveaxis(rows, -1, 1)
    return _floats(channels_first) / np.float32(127.5) - np.float32(1.0)
