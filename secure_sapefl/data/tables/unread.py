"""Columns that a schema leaves unread, and why each may be missed."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.examined import Finding
from secure_sapefl.data.tables.propose import DATE_FORMATS, day_of, is_number
from secure_sapefl.data.tables.schema import TableSchema

MOSTLY: Final = 0.5
_NUMBER: Final = re.compile(r"[<>≤≥~]?\s*[-+]?\d{1,3}([ ,.'’]?\d{3})*([.,]\d+)?\s*%?")  # <0.3, 1,234.5, 12 %
_DATE: Final = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}.*)?")
ONE_VALUE: Final = "the same value in every record; nothing can be learned from it"
NO_VALUE: Final = "never recorded"
_TOO_MANY: Final = (
    "too many different values to be categories; it is left out. If it names persons, let a schema say so"
)


def unread(columns: Columns, schema: TableSchema) -> tuple[Finding, ...]:
    """A finding for each column that holds one value or none, numbers and something else, dates written in several
    ways, or too many texts."""
    names = (*(schema.identifiers or ()), *(schema.ignored or ()))
    found = (_looked_at(columns, name, name in (schema.identifiers or ())) for name in names if name in columns.cells)
    return tuple(one for each in found for one in each)


def _looked_at(columns: Columns, name: str, identifier: bool) -> Iterator[Finding]:
    present = [index for index, cell in enumerate(columns.cells[name]) if not is_missing(cell)]
    cells = [columns.cells[name][index] for index in present]
    others = [index for index, cell in zip(present, cells, strict=True) if not is_number(cell)]
    if len(set(cells)) <= 1:
        yield Finding(kind="constant", column=name, says=ONE_VALUE if cells else NO_VALUE)
    elif others and sum(map(_means_number, cells)) > MOSTLY * len(cells):
        yield Finding(kind="mixed", column=name, says=_mixed(columns, others, len(cells)))
    elif identifier and sum(map(_means_date, cells)) > MOSTLY * len(cells):
        yield Finding(kind="mixed", column=name, says=_dates(columns, dict(zip(present, cells, strict=True))))
    elif identifier:
        yield Finding(kind="identifier", column=name, says=_TOO_MANY)


def _means_number(cell: str) -> bool:
    return is_number(cell) or _NUMBER.fullmatch(cell) is not None


def _means_date(cell: str) -> bool:
    return _DATE.fullmatch(cell) is not None


def _dates(columns: Columns, cells: dict[int, str]) -> str:
    """No one way of writing fits them all, or the column would be dates: which fits most, and where one differs."""
    others = {way: [index for index, cell in cells.items() if day_of(cell, way) is None] for way in DATE_FORMATS}
    way = min(others, key=lambda one: len(others[one]))
    return (
        f"it seems to hold dates, and {len(others[way]):,} of {len(cells):,} are not written as {way} or do not exist "
        f"(the first in {columns.place(others[way][0])}), so it is left out; write all dates in one way"
    )


def _mixed(columns: Columns, others: Sequence[int], count: int) -> str:
    return (
        f"it seems to hold numbers, and {len(others):,} of {count:,} values are not written as one (the first in "
        f"{columns.place(others[0])}), so it is left out; write plain numbers there, or nothing"
    )
