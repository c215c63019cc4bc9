"""What findings are made of: a table as they see it, and a sentence about one of its columns."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
FEWEST_ROWS: Final = 30  # below, everything may look like anything
MOST_CLASSES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    kind: str
    column: str
    says: str
    dangerous: bool = False

    @property
    def name(self) -> str:
        """By which it is waved through."""
        return f"{self.kind}:{self.column}"

    @property
    def sentence(self) -> str:
        return f"Column {self.column!r}: {self.says}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A table as findings see it: codes of levels, days and numbers side by side, NaN where missing."""

    X: Floats
    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # of each column; empty for numbers
    y: Codes
    classes: tuple[str, ...]
    label: str
    group: Codes | None = None
    group_names: tuple[str, ...] = ()
    site: str = "site"
    target: Floats | None = None  # where the label is a number; ``y`` are tenths of it
