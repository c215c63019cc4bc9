"""A table held to a schema: text becomes numbers. A complaint names column and place, never the value."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.examined import Examined
from secure_sapefl.data.tables.features import Boolean, Categorical, Date, Feature, Measured, Numeric
from secure_sapefl.data.tables.preparation import preparation
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.labels import BINS

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
SPELLINGS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("no", "n", "false", "f", "0", "nein", "non", "nee", "nej", "nei", "nie", "ne", "nem"), 0.0),
    **dict.fromkeys(("não", "nao", "hayır", "нет", "όχι"), 0.0),
    **dict.fromkeys(("yes", "y", "true", "t", "1", "ja", "oui", "si", "sí", "sì", "tak", "ano", "igen"), 1.0),
    **dict.fromkeys(("sim", "evet", "да", "ναι"), 1.0),
}
LARGEST: Final = float(np.finfo(np.float32).max)  # what a model computes with
_NEXT: Final = "Correct the record or the schema; `secure-sapefl site check-data` lists all that does not fit"


def table_of(columns: Columns, schema: TableSchema) -> Table:
    """All that the schema asks for, in the file's order. What is of other roles may be there and is not looked at."""
    columns.require([*schema.names, *schema.label_columns, *_one(schema.person)], schema.known)
    group, group_names = sites_of(columns, schema)
    return Table(
        X=features_of(columns, schema),
        y=labels_of(columns, schema),
        class_names=schema.label_names,
        source=f"{columns.source}, {len(columns):,} records",
        prepare=preparation(schema),
        group=group,
        group_names=group_names,
        segment=persons_of(columns, schema),
        persons=schema.person is not None,
        labels=schema.label_is,
    )


def examined(table: Table, schema: TableSchema) -> tuple[Examined, ...]:
    """The table as findings see it: once, or once a label where several are yes or no."""
    whole = Examined(
        X=table.X,
        names=schema.names,
        levels=tuple(() if isinstance(one, Measured) else one.levels for one in schema.features),
        y=table.labels.strata(table.y),
        classes=schema.label_names,
        label=schema.label,
        group=table.group,
        group_names=table.group_names,
        site=schema.site or "site",
    )
    return by_label(whole, table)


def by_label(whole: Examined, table: Table) -> tuple[Examined, ...]:
    """``whole`` has classes; what differs where ``table`` has none."""
    if table.labels.kind == "class":
        return (whole,)
    columns = zip(table.class_names, table.y.T, strict=True)
    if table.labels.kind == "number":
        bins = tuple(f"tenth {number}" for number in range(1, BINS + 1))
        return tuple(replace(whole, classes=bins, label=name, target=values) for name, values in columns)
    return tuple(
        replace(whole, classes=("no", "yes"), label=name, y=values.astype(np.int64)) for name, values in columns
    )


def features_of(columns: Columns, schema: TableSchema) -> Floats:
    """Rows as numbers, one column a feature: levels as their position, days from a reference, NaN where missing."""
    return np.stack([_feature(columns, feature) for feature in schema.features], axis=1)


def readable_rows(columns: Columns, schema: TableSchema) -> tuple[Floats, dict[int, str]]:
    """The rows that fit, and of the others, by their number from 0, the first thing that is wrong."""
    rows, problems = [], {}
    for index in range(len(columns)):
        row = []
        for feature in schema.features:
            try:
                row.append(value_of(feature, columns.cells[feature.name][index]))
            except ValueError as error:
                problems[index] = f"column {feature.name!r}, {columns.place(index)}: {error}"
                break
        else:
            rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(schema.features)), problems


def labels_of(columns: Columns, schema: TableSchema) -> Codes | Floats:
    """Codes of classes, [n]; or yes and no, or numbers, [n, columns]."""
    if schema.classes:
        return codes_of_classes(columns, schema.label, schema.classes)
    return np.stack([_feature(columns, feature) for feature in schema.label_features], axis=1)


def codes_of_classes(columns: Columns, label: str, classes: tuple[str, ...]) -> Codes:
    place = {name: k for k, name in enumerate(classes)}
    cells = columns.named(label)
    for index, cell in enumerate(cells):
        if cell not in place:
            what = "the class is missing" if is_missing(cell) else "not a class of the study"
            raise columns.bad(label, index, f"{what}; classes are {', '.join(classes)}. {_NEXT}")
    return np.array([place[cell] for cell in cells], dtype=np.int64)


def sites_of(columns: Columns, schema: TableSchema) -> tuple[Codes | None, tuple[str, ...]]:
    """The site of each row, where the file says it; a site's own file need not."""
    return codes_of(columns, schema.site)


def codes_of(columns: Columns, site: str | None) -> tuple[Codes | None, tuple[str, ...]]:
    if site is None or site not in columns.cells:
        return None, ()
    names, codes = np.unique(np.array(_present(columns, site)), return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names.tolist())


def persons_of(columns: Columns, schema: TableSchema) -> Codes | None:
    """A number for each person that follows from the name alone: no other row decides what it is."""
    return numbers_of(columns, schema.person)


def numbers_of(columns: Columns, person: str | None) -> Codes | None:
    if person is None:
        return None
    numbers = {name: _number_of(name) for name in _present(columns, person)}
    return np.array([numbers[name] for name in columns.cells[person]], dtype=np.int64)


def value_of(feature: Feature, cell: str) -> float:
    """A cell as a number; ValueError says in words what is wrong with it. NaN is a missing value that may be so."""
    if is_missing(cell):
        if not feature.may_be_missing:
            raise ValueError("the value is missing; impute it or remove the record")
        return float("nan")
    match feature:
        case Categorical(levels=levels):
            if cell not in levels:
                raise ValueError(f"not one of the study's levels: {', '.join(levels)}")
            return float(levels.index(cell))
        case Boolean():
            if cell.lower() not in SPELLINGS:
                raise ValueError("neither yes nor no, which the study expects here")
            return SPELLINGS[cell.lower()]
        case Date():
            return _within(feature, _day(feature, cell))
        case Numeric():
            return _within(feature, _number(cell))
        case _:
            assert_never(feature)


def _feature(columns: Columns, feature: Feature) -> Floats:
    values = np.full(len(columns), np.nan)
    for index, cell in enumerate(columns.named(feature.name)):
        try:
            values[index] = value_of(feature, cell)
        except ValueError as error:
            raise columns.bad(feature.name, index, f"{error}. {_NEXT}") from None
    return values


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError("not a number, which the study expects here") from None
    if not abs(value) <= LARGEST:
        raise ValueError("not a number that can be computed with: infinite, or above 3e38")
    return value


def _day(feature: Date, cell: str) -> float:
    try:
        return feature.days(datetime.strptime(cell, feature.format).date())
    except ValueError:
        raise ValueError(f"not a date written as {feature.format}") from None


def _within(feature: Numeric | Date, value: float) -> float:
    allowed = feature.range
    if allowed is not None and not allowed.low <= value <= allowed.high:
        bounds = (
            f"{feature.low:g} to {feature.high:g}"
            if isinstance(feature, Numeric)
            else f"{feature.low} to {feature.high}"
        )
        raise ValueError(f"outside the study's range {bounds}")
    return value


def _present(columns: Columns, name: str) -> list[str]:
    cells = columns.named(name)
    absent = next((index for index, cell in enumerate(cells) if is_missing(cell)), None)
    if absent is not None:
        raise columns.bad(name, absent, "the value is missing; without it nobody knows where the record belongs")
    return list(cells)


def _number_of(name: str) -> int:
    return (
        int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"sapefl person").digest(), "little") >> 1
    )


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
