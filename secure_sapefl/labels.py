"""What the label of a record is: a class, several answers of yes and no, or numbers; and the scale numbers are on."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

LabelKind = Literal["class", "yes-no", "number"]
Values = NDArray[Any]
BINS: Final = 10
_REACH: Final = sqrt(
    3
)  # of a public range on a model's scale: a width is the deviation of values spread evenly over it


@dataclass(frozen=True, slots=True)
class Scale:
    """What a model learns is (label - centre) / width, column by column; what is reported is in the label's units."""

    centre: tuple[float, ...]
    width: tuple[float, ...]
    public: bool = False  # known before a record is seen

    @classmethod
    def from_ranges(cls, *ranges: tuple[float, float]) -> "Scale":
        """Of every column, low and high."""
        centre = tuple((low + high) / 2 for low, high in ranges)
        return cls(centre, tuple((high - low) / (2 * _REACH) for low, high in ranges), public=True)

    @classmethod
    def from_rows(cls, y: Values) -> "Scale":
        """Mean and deviation of training labels [n, K]; one that never changes is only centred."""
        width = y.std(0)
        return cls(tuple(y.mean(0).tolist()), tuple(np.where(width > 0, width, 1.0).tolist()))

    def to_model(self, y: Values) -> NDArray[np.float32]:
        return np.asarray((y - np.array(self.centre)) / np.array(self.width), dtype=np.float32)

    def to_units(self, values: Values) -> NDArray[np.float64]:
        """A model's answers, or what `to_model` made, back in the label's units."""
        return np.asarray(values.astype(np.float64) * np.array(self.width) + np.array(self.centre))

    def bins(self, y: Values) -> NDArray[np.int64]:
        """Ten equal parts of a public range, by the first column: no other record decides about a record's."""
        place = (self.to_model(y)[:, 0] + _REACH) / (2 * _REACH)
        return np.clip((place * BINS).astype(np.int64), 0, BINS - 1)


@dataclass(frozen=True, slots=True)
class Labels:
    """How a table's labels are meant; ``scale`` is of numbers that are learned on a scale."""

    kind: LabelKind = "class"
    scale: Scale | None = None

    def for_model(self, y: Values) -> Values:
        """Classes as they are, everything else as float32 [n, K]."""
        if self.kind == "class":
            return y
        return y.astype(np.float32) if self.scale is None else self.scale.to_model(y)

    def in_units(self, values: Values) -> Values:
        return values if self.scale is None else self.scale.to_units(values)

    def strata(self, y: Values) -> NDArray[np.int64]:
        """What stands for a record's class where rows are divided by class: of yes and no, the first yes (0: none); of
        numbers, a tenth of the public range, or else of the records."""
        if self.kind == "class":
            classes: NDArray[np.int64] = y
            return classes
        if self.kind == "yes-no":
            return np.where(y.any(1), y.argmax(1) + 1, 0).astype(np.int64)
        if self.scale is not None and self.scale.public:
            return self.scale.bins(y)
        edges = np.quantile(y[:, 0], np.arange(1, BINS) / BINS)
        return np.searchsorted(edges, y[:, 0], side="right").astype(np.int64)

    def stratum_count(self, names: int) -> int:
        """Of labels with so many names."""
        return {"class": names, "yes-no": names + 1, "number": BINS}[self.kind]

    @property
    def strata_in_words(self) -> str:
        if self.kind == "class":
            return "classes"
        if self.kind == "yes-no":
            return "the first label that is yes"
        return "tenths of the label's public range" if self.scale and self.scale.public else "tenths of the records"


CLASSES: Final = Labels()
