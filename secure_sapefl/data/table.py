"""A dataset before it is divided: raw rows, labels, and what must stay together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.prepare import Prepare
from secure_sapefl.data.tables.examined import Finding
from secure_sapefl.data.tables.tally import CountPlan
from secure_sapefl.labels import CLASSES, Labels

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows in file order.

    ``group`` names the natural site of a row. ``segment`` joins rows that overlap in time: they share a label and
    are never divided, neither between sites nor between train and test. ``split`` (0 train, 1 test) is used as
    given. A table has segments or a given split, not both. ``learn`` makes the preparation from the training rows of
    all sites together; without it, ``prepare`` is given each site's rows alone.
    """

    X: Array  # [n, *raw shape], any numeric type; ``prepare`` turns it into float32
    y: Array  # classes [n] as indices, or answers of yes and no, or numbers, [n, K]
    class_names: tuple[str, ...]  # or what the columns of ``y`` are called
    source: str
    prepare: Prepare
    learn: Callable[[Array], Prepare] | None = None
    common: CountPlan | None = None  # what sites count to agree on a preparation; one site alone uses ``prepare``
    group: NDArray[np.int64] | None = None  # indices into group_names
    group_names: tuple[str, ...] = ()
    segment: NDArray[np.int64] | None = None
    split: NDArray[np.int64] | None = None
    persons: bool = False  # segments are persons, whose rows may differ in label
    findings: tuple[Finding, ...] = ()  # what is wrong with a table of one's own; nothing is looked for in private
    labels: Labels = CLASSES

    def __len__(self) -> int:
        return len(self.y)

    @property
    def strata(self) -> int:
        """How many kinds of rows there are, where rows are divided by class."""
        return self.labels.stratum_count(len(self.class_names))

    def persons_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Whose the rows of these numbers are, where the table says so."""
        return self.segment[rows] if self.persons and self.segment is not None else None

    def sample(self, rows: int, rng: np.random.Generator) -> "Table":
        """A random part of at most ``rows`` rows, in the order of the whole; segments come whole or not at all."""
        if rows >= len(self):
            return self
        units = Units.from_table(self)
        order = rng.permutation(len(units))
        kept = order[np.cumsum(units.size[order]) <= rows]
        return self.part(np.isin(units.of_row, kept))

    def part(self, chosen: NDArray[np.bool_]) -> "Table":
        """The chosen rows, in the order of the whole."""
        return replace(
            self,
            X=self.X[chosen],
            y=self.y[chosen],
            source=f"{self.source}, a random {int(chosen.sum()):,} of them",
            group=_part(self.group, chosen),
            segment=_part(self.segment, chosen),
            split=_part(self.split, chosen),
        )


def _part(values: NDArray[np.int64] | None, chosen: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    return None if values is None else values[chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The smallest pieces a table may be cut into: its segments, or else its single rows."""

    of_row: NDArray[np.int64]  # the unit each row belongs to
    size: NDArray[np.int64]
    first: NDArray[np.int64]  # the first row of each
    label: NDArray[np.int64]  # the class of each, or what stands for it
    part: NDArray[np.int64]  # the given split of each unit; all zero where none is given

    @classmethod
    def from_table(cls, table: Table) -> "Units":
        names = np.arange(len(table)) if table.segment is None else table.segment
        split = np.zeros(len(names), np.int64) if table.split is None else table.split
        return cls.from_names(names, table.labels.strata(table.y), split)

    @classmethod
    def from_names(cls, names: NDArray[np.int64], label: NDArray[np.int64], split: NDArray[np.int64]) -> "Units":
        """Of rows with these names of segments, labels (or what stands for them) and given split."""
        _, first, of_row, size = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
        return cls(of_row=of_row, size=size, first=first, label=label[first], part=split[first])

    def __len__(self) -> int:
        return len(self.size)
