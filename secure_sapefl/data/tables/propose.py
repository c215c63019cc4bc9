"""A schema proposed from a file: kinds, levels, ranges and roles, for a person to read and correct.

What is proposed was read off records. A private study needs a schema that a person has made public knowledge; a
simulation without a budget may use a proposal as it is.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

from secure_sapefl.data.tables.columns import Columns, is_missing
from secure_sapefl.data.tables.features import Boolean, Categorical, Date, Feature, Numeric, is_name
from secure_sapefl.data.tables.schema import TableSchema, Target
from secure_sapefl.data.tables.values import LARGEST, SPELLINGS
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind

DATE_FORMATS: Final = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d"),
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"),
)
MOST_LEVELS: Final = 50
_SITE_NAMES: Final = frozenset({"site", "hospital", "clinic", "centre", "center", "klinik", "krankenhaus", "group"})
_PERSON_NAMES: Final = frozenset({"person", "patient", "subject", "patient_id", "subject_id", "person_id"})


def propose(
    columns: Columns,
    *,
    label: str,
    site: str | None = None,
    person: str | None = None,
    labels: LabelKind | None = None,
) -> TableSchema:
    """Numbers are numbers, whatever they mean; texts are yes and no, dates, levels or, with too many, identifiers; with
    lines or whole sentences in them, ignored."""
    special = [*label_columns(columns, label), *(name for name in (site, person) if name is not None)]
    for name in special:
        columns.named(name)
    if len(set(special)) < len(special):
        raise BadInput(f"{columns.source}: one column cannot be two of the label, the site (group) and the person.")
    features: list[Feature] = []
    identifiers, ignored = [], []
    for name in (name for name in columns.cells if name not in special):
        found = _proposed(name, columns.cells[name])
        if found == "identifier":
            identifiers.append(name)
        elif isinstance(found, str):
            ignored.append(name)
        else:
            features.append(found)
    if not features:
        raise BadInput(f"{columns.source} has no column left for features beside {', '.join(special)}.")
    return TableSchema.read(
        {
            **label_settings(columns, label, labels),
            "features": features,
            "scaling": "site",
            "site": site,
            "person": person,
            "identifiers": identifiers or None,
            "ignored": ignored or None,
        },
        columns.source,
    )


def with_ranges(schema: TableSchema, columns: Columns) -> TableSchema:
    """Every number and date with a range around what the file holds, rounded outwards; scaled by those."""
    features = [_ranged(feature, columns.cells[feature.name]) for feature in schema.features]
    target = schema.target
    if target is not None and len(schema.label_columns) == 1:
        low, high = outwards(*_ends(float(cell) for cell in columns.cells[schema.label]))
        target = Target(low=low, high=high)
    return schema.model_copy(update={"features": tuple(features), "scaling": "range", "target": target})


def label_columns(columns: Columns, label: str) -> list[str]:
    """The column that is called so, or else several, parted by commas."""
    return [label] if label in columns.cells or "," not in label else [name.strip() for name in label.split(",")]


def label_settings(columns: Columns, label: str, labels: LabelKind | None) -> dict[str, Any]:
    """What a schema says of its label; several columns are yes or no, unless something else is said."""
    names = label_columns(columns, label)
    kind = labels or ("class" if len(names) == 1 else "yes-no")
    if kind == "class":
        return {"label": label, "classes": classes_of(columns, label)}
    for name in names:
        _require_present(columns, name)
    if kind == "yes-no":
        return {"label": label, "labels": names}
    for name in names:
        _require_numbers(columns, name)
    return {"label": label, "target": Target(), "labels": names if len(names) > 1 else None}


def guessed(columns: Columns, names: frozenset[str], taken: Sequence[str | None]) -> str | None:
    """The first column that is called so, by a list of usual names."""
    return next((name for name in columns.cells if name.lower() in names and name not in taken), None)


def guessed_site(columns: Columns, taken: Sequence[str | None]) -> str | None:
    return guessed(columns, _SITE_NAMES, taken)


def guessed_person(columns: Columns, taken: Sequence[str | None]) -> str | None:
    return guessed(columns, _PERSON_NAMES, taken)


def classes_of(columns: Columns, label: str) -> list[str]:
    classes = _in_order(set(_require_present(columns, label)))
    if len(classes) < 2:
        raise BadInput(f"{columns.source}: column {label!r} has a single class; a classifier needs at least two.")
    return classes


def _require_present(columns: Columns, label: str) -> Sequence[str]:
    cells = columns.named(label)
    absent = [index for index, cell in enumerate(cells) if is_missing(cell)]
    if absent:
        raise BadInput(
            f"{columns.source}: column {label!r} has {len(absent):,} missing values, the first in "
            f"{columns.place(absent[0])}. A record without a label cannot be learned from: remove those rows."
        )
    return cells


def _require_numbers(columns: Columns, label: str) -> None:
    for index, cell in enumerate(columns.cells[label]):
        if not is_number(cell):
            raise columns.bad(label, index, "not a number, which --task regression predicts; name another --label")


def _in_order(classes: set[str]) -> list[str]:
    """No before yes, in whichever language: of two classes the second is the one that is looked for."""
    if {SPELLINGS.get(name.lower()) for name in classes} == {0.0, 1.0} and len(classes) == 2:
        return sorted(classes, key=lambda name: SPELLINGS[name.lower()])
    return sorted(classes)


def _proposed(name: str, cells: Sequence[str]) -> Feature | str:
    present = [cell for cell in cells if not is_missing(cell)]
    common: dict[str, Any] = {"name": name, "may_be_missing": len(present) < len(cells)}
    if not present:
        return "empty"
    if all(map(is_number, present)):
        return Numeric(**common)
    if all(cell.lower() in SPELLINGS for cell in present):
        return Boolean(**common)
    if (written := next(_formats(present), None)) is not None:
        return Date(**common, format=written)
    levels = sorted(set(present))
    if len(levels) > MOST_LEVELS or (len(levels) > 2 and 2 * len(levels) > len(present)):
        return "identifier"
    if not all(map(is_name, levels)):
        return "prose"
    return _levels(common, levels)


def _levels(common: dict[str, Any], levels: list[str]) -> Feature | str:
    return Categorical(**common, levels=tuple(levels)) if len(levels) > 1 else "constant"


def _formats(present: Sequence[str]) -> Iterator[str]:
    for written in DATE_FORMATS:
        if all(day_of(cell, written) is not None for cell in present):
            yield written


def _ranged(feature: Feature, cells: Sequence[str]) -> Feature:
    present = [cell for cell in cells if not is_missing(cell)]
    match feature:
        case Numeric():
            low, high = outwards(*_ends(float(cell) for cell in present))
            return feature.model_copy(update={"low": low, "high": high})
        case Date(format=written):
            days = [day for cell in present if (day := day_of(cell, written)) is not None]
            first, last = min(days).year, max(days).year + 1
            return feature.model_copy(update={"low": date(first, 1, 1), "high": date(last, 1, 1)})
        case _:
            return feature


def outwards(low: float, high: float) -> tuple[float, float]:
    """The same range to two digits of its width, never narrower: 18.2 to 93 is 18 to 93, of width 75."""
    width = high - low
    if width <= 0:
        apart = max(1.0, 1e-6 * abs(low))  # beside 1e30 a step of 1 is none
        return low - apart, high + apart
    step = 10.0 ** (math.floor(math.log10(width)) - 1)
    return min(low, _rounded(math.floor(low / step) * step)), max(high, _rounded(math.ceil(high / step) * step))


def _rounded(value: float) -> float:
    """Without the digits that no step of ten has exactly: 1.1e30, not 1.0999999999999999e30."""
    return float(f"{value:.12g}")


def _ends(values: Iterator[float]) -> tuple[float, float]:
    numbers = list(values)
    return min(numbers), max(numbers)


def is_number(cell: str) -> bool:
    try:
        return abs(float(cell)) <= LARGEST
    except ValueError:
        return False


def day_of(cell: str, written: str) -> date | None:
    try:
        return datetime.strptime(cell, written).date()
    except ValueError:
        return None
