"""A table as text: columns of cells, whichever file they came from, and how a place in that file is named."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from secure_sapefl.errors import BadInput, UnknownName

MISSING: Final = frozenset({"", "?", "na", "n/a", "#n/a", "nan", "nat", "<na>", "null", "none"})
_NA: Final = "<NA>"  # pandas', which cannot be compared
_FIRST_LINE = 2  # below the header


def is_missing(cell: str) -> bool:
    return cell.lower() in MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """A file's columns, each under its name, all of the same length."""

    source: str
    unit: Literal["line", "row"]
    cells: dict[str, Sequence[str]]
    found: str = ""  # how the file was read, for the person who owns it: separator, encoding, sheet

    def __len__(self) -> int:
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def place(self, index: int) -> str:
        """Where a reader finds a row: lines are counted as an editor does, rows from 0."""
        return f"line {index + _FIRST_LINE}" if self.unit == "line" else f"row {index} (counted from 0)"

    def bad(self, column: str, index: int, what: str) -> BadInput:
        return BadInput(f"{self.source}: column {column!r}, {self.place(index)}: {what}.")

    def named(self, column: str) -> Sequence[str]:
        if column not in self.cells:
            raise UnknownName(f"column of {self.source}", column, self.cells)
        return self.cells[column]

    def require(self, wanted: Sequence[str], known: Sequence[str]) -> None:
        """Every wanted column is there, and nothing but known ones."""
        for name in wanted:
            if name not in self.cells:
                raise BadInput(
                    f"{self.source} has no column {name!r}, which the study needs. It has: {', '.join(self.cells)}."
                )
        for name in self.cells:
            if name not in known:
                raise BadInput(
                    f"{self.source}: column {name!r} is not in the study's schema; remove it, or rename it if it is "
                    f"one of {', '.join(known)}."
                )


def columns_of(
    source: str, unit: Literal["line", "row"], header: Sequence[str], rows: Sequence[Sequence[str]], found: str
) -> Columns:
    """From a header and rows of its length."""
    if not rows:
        raise BadInput(f"{source} has no rows below its header line.")
    if "" in header:
        place = f"column {header.index('') + 1} (counted from 1)"
        raise BadInput(f"{source}: {place} has no name in the header line. Name it, or remove the column.")
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise BadInput(f"{source}: column {min(twice)!r} appears more than once. Rename one of them.")
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    return Columns(source=source, unit=unit, cells=dict(cells), found=found)


def texts(values: Iterable[object]) -> list[str]:
    """Values of a typed file as a CSV would say them: 3.0 is 3, so that levels written as numbers are found."""
    return [text_of(value) for value in values]


def text_of(value: object) -> str:
    if value is None or str(value) == _NA or value != value:  # NaN and NaT alone are unequal to themselves
        return ""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.17g}"
        case datetime():
            return value.date().isoformat()  # a date is a day here, whatever the hour
        case date():
            return value.isoformat()
        case _:
            return composed(str(value)).strip()


def composed(text: str) -> str:
    """ö as one character, as most programs write it, where a Mac's wrote o and two dots."""
    return unicodedata.normalize("NFC", text)
