"""Everything in a file that does not fit a schema, at once, for its owner: before consent, and before a run.

A sentence names the column, how many values, the first place and, where one can be seen, the likely reason. It never
repeats a value.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.features import Categorical, Feature, Numeric
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.values import value_of

Floats = NDArray[np.float64]
FACTORS: Final = {  # what a value is multiplied by where it was written in another unit
    10.0: "tens",
    100.0: "hundreds, or metres for centimetres",
    1000.0: "thousands, or kilograms for grams",
    0.1: "tenths",
    0.01: "hundredths, or per cent for a share",
    0.001: "thousandths, or grams for kilograms",
    38.67: "cholesterol in mmol/l for mg/dl",
    1 / 38.67: "cholesterol in mg/dl for mmol/l",
    18.02: "glucose in mmol/l for mg/dl",
    1 / 18.02: "glucose in mg/dl for mmol/l",
    88.42: "creatinine in mg/dl for µmol/l",
    1 / 88.42: "creatinine in µmol/l for mg/dl",
    2.54: "inches for centimetres",
    0.4536: "pounds for kilograms",
}
_ENOUGH: Final = 0.95  # of the values that a factor must bring into the range


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    column: str
    says: str
    blocks: bool = True  # a file with it cannot be used; others are to be looked at

    @property
    def sentence(self) -> str:
        return f"Column {self.column!r}: {self.says}."


def mismatches(columns: Columns, schema: TableSchema) -> tuple[Mismatch, ...]:
    return (
        *_absent(columns, schema),
        *_unknown(columns, schema),
        *(one for feature in _read(schema) if feature.name in columns.cells for one in _in_feature(columns, feature)),
        *(_classes(columns, schema) if schema.classes else ()),
        *_roles(columns, schema),
    )


def _read(schema: TableSchema) -> tuple[Feature, ...]:
    return (*schema.features, *schema.label_features)


def _absent(columns: Columns, schema: TableSchema) -> Iterator[Mismatch]:
    person = () if schema.person is None else (schema.person,)
    for name in (*schema.names, *schema.label_columns, *person):
        if name not in columns.cells:
            near = get_close_matches(name, list(columns.cells), n=1, cutoff=0.6)
            hint = f"; is it {near[0]!r} in this file? Rename it" if near else "; add it"
            yield Mismatch(column=name, says=f"the study needs it and the file has none{hint}")


def _unknown(columns: Columns, schema: TableSchema) -> Iterator[Mismatch]:
    for name in columns.cells:
        if name not in schema.known:
            yield Mismatch(
                column=name, says="not in the study's schema; remove it, or ask for it to be listed as ignored"
            )


def _in_feature(columns: Columns, feature: Feature) -> Iterator[Mismatch]:
    reasons = defaultdict(list)
    for index, cell in enumerate(columns.cells[feature.name]):
        try:
            value_of(feature, cell)
        except ValueError as error:
            reasons[str(error)].append(index)
    for reason, places in reasons.items():
        hint = _hint(columns, feature, places)
        says = f"{_counted(len(places))} of {len(columns):,}, first in {columns.place(places[0])}: {reason}{hint}"
        yield Mismatch(column=feature.name, says=says)
    if not reasons and isinstance(feature, Numeric):
        yield from _far_from_typical(columns, feature)


def _hint(columns: Columns, feature: Feature, places: Sequence[int]) -> str:
    cells = [columns.cells[feature.name][index] for index in places]
    match feature:
        case Categorical(levels=levels):
            return _capitals(cells, levels)
        case Numeric():
            found = _unit(columns, feature)
            return f"; times {found[0]:g} they would fit, as if in another unit ({found[1]})" if found else ""
        case _:
            return ""


def _capitals(cells: Sequence[str], known: Sequence[str]) -> str:
    folded = {name.casefold() for name in known}
    same = all(cell.casefold() in folded for cell in cells)
    return "; they differ from the study's in capital letters only" if same else ""


def _unit(columns: Columns, feature: Numeric) -> tuple[float, str] | None:
    """The factor that brings nearly all values into the range, if less than half are in it as they are."""
    values, allowed = _numbers(columns, feature), feature.range
    if allowed is None or not len(values) or _share_within(values, allowed.low, allowed.high) > 0.5:
        return None
    fitting = [f for f in FACTORS if _share_within(values * f, allowed.low, allowed.high) >= _ENOUGH]
    middle = (allowed.low + allowed.high) / 2
    best = min(fitting, key=lambda f: abs(float(np.median(values)) * f - middle), default=None)
    return None if best is None else (best, FACTORS[best])


def _far_from_typical(columns: Columns, feature: Numeric) -> Iterator[Mismatch]:
    """Within a wide range a wrong unit shows only against what is typical."""
    values = _numbers(columns, feature)
    if feature.typical and len(values) and (middle := float(np.median(values))):
        apart = feature.typical / middle
        if not 0.2 < apart < 5:
            factor = f"{max(apart, 1 / apart):.0f}"
            says = f"its middle value is off the typical one by a factor of about {factor}; check the unit"
            yield Mismatch(column=feature.name, says=says, blocks=False)


def _classes(columns: Columns, schema: TableSchema) -> Iterator[Mismatch]:
    cells = columns.cells.get(schema.label, ())
    bad = [index for index, cell in enumerate(cells) if cell not in schema.classes]
    if bad:
        says = f"{_counted(len(bad))}, first in {columns.place(bad[0])}: no class of the study"
        hint = _capitals([cells[index] for index in bad], schema.classes)
        yield Mismatch(column=schema.label, says=f"{says}; classes are {', '.join(schema.classes)}{hint}")
    for name in schema.classes:
        if cells and name not in cells:
            yield Mismatch(column=schema.label, says=f"no record of class {name!r}", blocks=False)


def _roles(columns: Columns, schema: TableSchema) -> Iterator[Mismatch]:
    for name in (schema.site, schema.person):
        empty = sum(map(is_missing, columns.cells.get(name, ()))) if name else 0
        if name and empty:
            yield Mismatch(column=name, says=f"{_counted(empty)} missing; nobody knows where those records belong")
    if schema.site is not None and (count := len(set(columns.cells.get(schema.site, ())))) > 1:
        says = f"records of {count} sites; a site of a deployed study has its own"
        yield Mismatch(column=schema.site, says=says, blocks=False)


def _numbers(columns: Columns, feature: Numeric) -> Floats:
    found = []
    for cell in columns.cells[feature.name]:
        try:
            found.append(float(cell) if not is_missing(cell) else float("nan"))
        except ValueError:
            continue
    values = np.array(found, dtype=np.float64)
    return np.asarray(values[np.isfinite(values)])


def _share_within(values: Floats, low: float, high: float) -> float:
    return float(np.mean((values >= low) & (values <= high)))


def _counted(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"
