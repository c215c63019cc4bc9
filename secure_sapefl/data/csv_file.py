"""Reading a CSV table: a header line, one label column, an optional group column, numbers everywhere else."""

import csv
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.errors import BadInput, UnknownName

OTHER_SEPARATORS: Final = {";": "semicolons", "\t": "tabs"}
MISSING: Final = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


def read_csv(path: Path, label: str | None, group: str | None) -> Arrays:
    """The arrays X, y, feature_names and, where asked for, group. Errors name column and line, never a value."""
    header, rows = read_cells(path)
    if label is None:
        raise BadInput(f"{path.name}: which column is the label? Name it with --label; columns: {', '.join(header)}.")
    special = {"y": label} | ({} if group is None else {"group": group})
    for name in special.values():
        if name not in header:
            raise UnknownName(f"column of {path.name}", name, header)
    if label == group:
        raise BadInput(f"{path.name}: column {label!r} cannot be both the label and the group.")
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    features = [name for name in header if name not in special.values()]
    if not features:
        raise BadInput(f"{path.name} has no column left for features beside {', '.join(special.values())}.")
    arrays: dict[str, NDArray[Any]] = {key: _text(path, name, columns[name]) for key, name in special.items()}
    arrays["X"] = np.stack([_numbers(path, name, columns[name]) for name in features], axis=1)
    arrays["feature_names"] = np.array(features)
    return Arrays(path.name, arrays)


def read_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header line and the lines below it, as text, stripped, all of the same length."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path.name} is not a readable CSV file ({error}). Save it as UTF-8 text.") from error
    if lines:
        _check_separator(path, lines[0])
    if len(lines) < 2:
        raise BadInput(f"{path.name} has no rows below its header line.")
    header, rows = lines[0], lines[1:]
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise BadInput(f"{path.name}: column {min(twice)!r} appears more than once. Rename one of them.")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise BadInput(f"{path.name}, line {number}: {len(row)} cells, the header has {len(header)}.")
    return header, rows


def _check_separator(path: Path, header: list[str]) -> None:
    """Spreadsheets of many countries write semicolons, and copied tables have tabs."""
    for separator, name in OTHER_SEPARATORS.items():
        if sum(cell.count(separator) for cell in header) >= len(header):
            raise BadInput(
                f"{path.name}: its header is divided by {name}, not by commas. Save it as CSV with commas between "
                "columns and points in decimal numbers."
            )


def _text(path: Path, name: str, cells: tuple[str, ...]) -> NDArray[np.str_]:
    _check_present(path, name, cells)
    return np.array(cells)


def _numbers(path: Path, name: str, cells: tuple[str, ...]) -> NDArray[np.float64]:
    _check_present(path, name, cells)
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        line = next(number for number, cell in enumerate(cells, start=2) if not _is_number(cell))
        raise BadInput(
            f"{path.name}: column {name!r} is not a number in line {line}. "
            "Encode it as numbers, remove it, or name it with --label or --group."
        ) from None


def _check_present(path: Path, name: str, cells: tuple[str, ...]) -> None:
    absent = [number for number, cell in enumerate(cells, start=2) if cell.lower() in MISSING]
    if absent:
        raise BadInput(
            f"{path.name}: column {name!r} has {len(absent):,} missing values, the first in line {absent[0]}. "
            "Impute them or remove those rows."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
