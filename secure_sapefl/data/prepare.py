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


@dataclass(frozen=True, slots=True, eq=False)
class AgreedScale(LearnedScale):
    """The same, made from totals over all sites (`tables/common.py`)."""

    sites: int
    noised: bool


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
    """Numbers by a scale of theirs, then a column of 0 and 1 for each level of each category; missing is no level, and
    neither is one that nobody had when sites agreed on a vocabulary: nothing was learned about it."""

    columns: tuple[tuple[str, tuple[str, ...]], ...]  # the name and the levels of each; a column of numbers has none
    scale: Prepare
    vocabulary: Mapping[str, tuple[str, ...]] | None = None  # by category; None: every level

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

    def recipe(self, train: Array) -> Recipe:
        """Of the columns as a site's file has them; days count from a date's reference, no and yes are levels."""
        return {
            "kind": "table",
            "formula": "concatenate(numbers by their formula, (column == level) for each level of each category)",
            "numbers": {
                "columns": [name for name, levels in self.columns if not levels],
                **recipe_of(self.scale, train[:, self.numeric]),
            },
            "categories": {name: self._known(name, levels) for name, levels in self.columns if levels},
        }

    def _known(self, name: str, levels: tuple[str, ...]) -> list[str | None]:
        """The levels, with None (which no cell equals) for one that is not of the vocabulary."""
        known = levels if self.vocabulary is None else self.vocabulary[name]
        return [level if level in known else None for level in levels]

    def _one_hot(self, rows: Array) -> list[Floats]:
        return [
            (rows[:, place, None] == self._codes(name, levels)).astype(np.float32)
            for place, (name, levels) in enumerate(self.columns)
            if levels
        ]

    def _codes(self, name: str, levels: tuple[str, ...]) -> Array:
        return np.array([np.nan if level is None else k for k, level in enumerate(self._known(name, levels))])


def learns_from_rows(prepare: Prepare) -> bool:
    """Whether a preparation carries something of sites' rows into what their models see."""
    if isinstance(prepare, MixedColumns):
        return learns_from_rows(prepare.scale)
    if isinstance(prepare, AgreedScale):
        return not prepare.noised
    return prepare is standardise or isinstance(prepare, LearnedScale)


def described(prepare: Prepare) -> str:
    """For people: which scale rows were put on, and where it came from."""
    if isinstance(prepare, MixedColumns):
        return f"{described(prepare.scale)}; categories as columns of 0 and 1"
    if isinstance(prepare, AgreedScale):
        how = "noised sums" if prepare.noised else "sums"
        return f"one fill and scale for all sites, agreed by {how} over {prepare.sites} of them"
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
