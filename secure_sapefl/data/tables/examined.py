"""What findings are made of: a table as they see it, and a sentence about one of its columns."""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
FEWEST_ROWS: Final = 30  # below, everything may look like anything
MOST_CLASSES: Final = 20
_LETTER: Final = r"[^\W\d_]"
_BESIDE: Final = re.compile(  # what people write differently: spaces, quotes, full stops, a hyphen at a letter
    rf"[\s_'\"]|(?<!\d)[.,;:]|[.,;:](?!\d)|(?<={_LETTER})-(?=\w)|(?<=\w)-(?={_LETTER})"
)


def spelling(name: str) -> str:
    """The same of names that are spelt differently and may be one: `yes` and `YES`, `1` and `1.0`; but not of `-1` and
    `1`, nor of `<5` and `>5`."""
    try:
        return str(float(name) + 0.0)
    except ValueError:
        return _BESIDE.sub("", name.casefold()) or name


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

    @property
    def one_spelling(self) -> Codes:
        """``y`` where classes that are spelt differently and may be the same are one."""
        keys = [spelling(name) for name in self.classes]
        return np.array([keys.index(key) for key in keys], np.int64)[self.y]
