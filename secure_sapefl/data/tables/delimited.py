"""Reading a delimited text file: separator, encoding and decimal sign are found out, and said.

What is found out must not let one record decide about another (docs/privacy.md). So the separator is read off the
header line, which is no record; a byte-order mark stands before it; every other line is UTF-8, or Windows-1252 where it
cannot be UTF-8, each line for itself; and a comma inside a number is a decimal comma by that cell alone.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from secure_sapefl.data.tables.columns import Columns, columns_of, composed
from secure_sapefl.errors import BadInput

SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_FALLBACK: Final = "cp1252"
_TOLD: Final = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)  # as Excel writes it, above the header


def read_delimited(path: Path) -> Columns:
    """The cells below the header line, stripped, with what was found out about the file."""
    lines, encoding = _decoded(path)
    told = _TOLD.fullmatch(lines[0]) if lines else None
    lines = lines[1:] if told else lines
    separator = told[1] if told else _separator(lines[0]) if lines else ","
    try:
        rows = [[composed(cell).strip() for cell in line] for line in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise BadInput(f"{path.name} is not a readable CSV file ({error}). Save it as UTF-8 text.") from error
    rows = [row for row in rows if any(row)]  # a line of separators alone is no record
    if len(rows) < 2:
        raise BadInput(f"{path.name} has no rows below its header line.")
    header, rows = _to_its_last_name(rows[0]), rows[1:]
    for number, row in enumerate(rows, start=2 + bool(told)):
        if len(_to_its_last_name(row)) > len(header) or len(row) < len(header):
            raise BadInput(f"{path.name}, line {number}: {len(row)} cells, the header has {len(header)}.")
    rows = [row[: len(header)] for row in rows]
    if separator != ",":
        rows = [[_with_point(cell) for cell in row] for row in rows]
    return columns_of(path.name, "line", header, rows, f"divided by {SEPARATORS[separator]}, {encoding}")


def _decoded(path: Path) -> tuple[list[str], str]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read ({error.strerror or error}).") from error
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return [line for line, _ in _by_line(content.decode("utf-16").encode())], "UTF-16"
        if b"\0" in content:
            raise BadInput(f"{path.name} is not a readable CSV file (it holds zero bytes). Save it as UTF-8 text.")
        lines = list(_by_line(content.removeprefix(codecs.BOM_UTF8)))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.name} is not a readable CSV file ({error}). Save it as UTF-8 text.") from error
    other = any(encoding == _FALLBACK for _, encoding in lines)
    return [line for line, _ in lines], "Windows-1252 where not UTF-8" if other else "UTF-8"


def _by_line(content: bytes) -> Iterator[tuple[str, str]]:
    for line in content.splitlines(keepends=True):
        try:
            yield line.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            yield line.decode(_FALLBACK), _FALLBACK


def _separator(header: str) -> str:
    """The one that parts the header into most cells; commas where none does."""
    counts = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in SEPARATORS}
    return max(SEPARATORS, key=lambda mark: counts[mark])


def _to_its_last_name(cells: list[str]) -> list[str]:
    """Without the empty cells at its end, which spreadsheets write for columns that were once used."""
    return cells[: max((place for place, cell in enumerate(cells, start=1) if cell), default=0)]


def _with_point(cell: str) -> str:
    """3,5 is 3.5 where commas part no columns."""
    whole, comma, part = cell.partition(",")
    return f"{whole}.{part}" if comma and part.isdecimal() and whole.lstrip("+-").isdecimal() else cell
