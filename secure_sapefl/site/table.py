"""A site's table held to the study's schema. A complaint names the column and the line, never the value in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.csv_file import MISSING, read_cells
from secure_sapefl.errors import BadInput
from secure_sapefl.study.schema import Categorical, Feature, Numeric, TableSchema

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
_FIRST_LINE = 2  # below the header


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """A file's columns as text, each under its name."""

    source: str
    unit: Literal["line", "row"]
    cells: dict[str, Sequence[str]]

    def bad(self, column: str, index: int, what: str) -> BadInput:
        place = index + (_FIRST_LINE if self.unit == "line" else 0)
        counted = "" if self.unit == "line" else " (counted from 0)"
        return BadInput(f"{self.source}: column {column!r}, {self.unit} {place}{counted}: {what}.")

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


def read_table(path: Path, schema: TableSchema) -> tuple[Floats, Labels]:
    """Rows as numbers, one column a feature (levels as their position, NaN where missing), and their classes."""
    columns = read_columns(path, schema)
    names = [feature.name for feature in schema.features]
    columns.require([*names, schema.label], [*names, schema.label])
    return features_of(columns, schema), _labels(columns, schema)


def read_columns(path: Path, schema: TableSchema) -> Columns:
    if path.suffix == ".csv":
        header, rows = read_cells(path)
        return Columns(source=path.name, unit="line", cells=dict(zip(header, zip(*rows, strict=True), strict=True)))
    if path.suffix != ".npz":
        raise BadInput(f"{path.name}: a site's data is a .csv or an .npz file. Convert it to one of them.")
    return _from_arrays(read_npz(path), schema)


def features_of(columns: Columns, schema: TableSchema) -> Floats:
    return np.stack([_feature(columns, feature) for feature in schema.features], axis=1)


def _from_arrays(arrays: Arrays, schema: TableSchema) -> Columns:
    """X with a column a feature, in the schema's order unless `feature_names` says otherwise, and y."""
    X = arrays["X"]
    names = arrays.strings("feature_names") if "feature_names" in arrays else [f.name for f in schema.features]
    if X.ndim != 2 or X.dtype.kind not in "fiubU" or X.shape[1] != len(names) or not len(X):
        raise arrays.bad("X", f"is {X.dtype} of shape {X.shape}, expected rows x {len(names)} features")
    cells: dict[str, Sequence[str]] = {name: _texts(X[:, place]) for place, name in enumerate(names)}
    if "y" in arrays:
        cells[schema.label] = _class_names(arrays, schema, len(X))
    return Columns(source=arrays.name, unit="row", cells=cells)


def _class_names(arrays: Arrays, schema: TableSchema, rows: int) -> list[str]:
    """y as it is where it holds texts; where it holds integers, they count the file's class names, or else ours."""
    y = arrays.per_row("y", rows)
    if y.dtype.kind == "U":
        return _texts(y)
    names = arrays.strings("class_names") if "class_names" in arrays else schema.classes
    return [names[k] for k in arrays.integers("y", rows, len(names))]


def _texts(values: NDArray[np.generic]) -> list[str]:
    """As a CSV would say it: 3.0 is 3, so that levels written as numbers are found."""
    return [f"{value:.17g}" if isinstance(value, float) else str(value) for value in values.tolist()]


def _feature(columns: Columns, feature: Feature) -> Floats:
    values = np.full(len(columns.cells[feature.name]), np.nan)
    for index, cell in enumerate(columns.cells[feature.name]):
        if cell.lower() not in MISSING:
            values[index] = _value(columns, feature, index, cell)
        elif not feature.may_be_missing:
            raise columns.bad(feature.name, index, "the value is missing; impute it or remove the record")
    return values


def _value(columns: Columns, feature: Feature, index: int, cell: str) -> float:
    match feature:
        case Categorical(levels=levels):
            if cell not in levels:
                raise columns.bad(feature.name, index, f"not one of the study's levels: {', '.join(levels)}")
            return float(levels.index(cell))
        case Numeric(range=allowed):
            try:
                value = float(cell)
            except ValueError:
                raise columns.bad(feature.name, index, "not a number, which the study expects here") from None
            if not np.isfinite(value):
                raise columns.bad(feature.name, index, "not a finite number")
            if allowed is not None and not allowed.low <= value <= allowed.high:
                raise columns.bad(feature.name, index, f"outside the study's range {allowed.low:g} to {allowed.high:g}")
            return value


def _labels(columns: Columns, schema: TableSchema) -> Labels:
    place = {name: k for k, name in enumerate(schema.classes)}
    cells = columns.cells[schema.label]
    for index, cell in enumerate(cells):
        if cell not in place:
            what = "the class is missing" if cell.lower() in MISSING else "not a class of the study"
            raise columns.bad(schema.label, index, f"{what}; classes are {', '.join(schema.classes)}")
    return np.array([place[cell] for cell in cells], dtype=np.int64)
