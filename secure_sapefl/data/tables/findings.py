"""What ruins studies, found before one begins: each finding is a sentence with the column's name.

A dangerous one stops a run until somebody waves it through by its name (``--accept``). In a private run nothing is
looked for: whether a study takes place must not depend on a record. Owners look for themselves, with `data check`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import average_ranks

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
FEWEST_TEST_ROWS: Final = 10
TEST_PART: Final = 0.2
MOST_CLASSES: Final = 20
FEWEST_ROWS: Final = 30  # below, everything may look like anything
ALMOST: Final = 0.995
FAR_OFF: Final = 1e4  # spreads of a column away from its middle
_ID: Final = re.compile(r"(^|[\W_])(id|nr|no|num|number|mrn|case|fall|record|patient)([\W_]|$)", re.IGNORECASE)


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
    left_out: tuple[str, ...] = ()  # text columns taken for identifiers
    target: Floats | None = None  # where the label is a number; ``y`` are tenths of it


def findings(*tables: Examined) -> tuple[Finding, ...]:
    """Each once; a table is given once for every label it has."""
    found = (finding for table in tables for look in _LOOKS for finding in look(table))
    return tuple(dict.fromkeys(found))


def require_accepted(found: Sequence[Finding], accepted: str) -> None:
    """Stop at dangerous findings that nobody has waved through; ``accepted`` lists names, parted by commas."""
    names = {name.strip() for name in accepted.split(",") if name.strip()}
    stopping = [one for one in found if one.dangerous and one.name not in names]
    if stopping:
        said = " ".join(one.sentence for one in stopping)
        waved = ",".join([*sorted(names), *(one.name for one in stopping)])
        raise BadInput(
            f"{said} A model of such a table says nothing about patients. Correct the table, or, if it is meant, wave "
            f"it through: --accept '{waved}'."
        )


def _identifiers(table: Examined) -> Iterator[Finding]:
    for name in table.left_out:
        says = "too many different values to be categories; it is left out. If it names persons, let a schema say so"
        yield Finding(kind="identifier", column=name, says=says)
    for name, values in _numbers(table):
        whole = len(values) >= FEWEST_ROWS and bool((values == np.round(values)).all())
        if whole and len(np.unique(values)) == len(values):
            counting = values.max() - values.min() == len(values) - 1
            if counting or _ID.search(name):
                says = "a different whole number in every record, like a case number; a model would learn the order"
                yield Finding(kind="identifier", column=name, says=says, dangerous=True)


def _leaks(table: Examined) -> Iterator[Finding]:
    shares = np.bincount(table.y, minlength=len(table.classes)) / max(len(table.y), 1)
    if len(table.y) < FEWEST_ROWS or shares.max() > 0.95:
        return
    for place, name in enumerate(table.names):
        known = ~np.isnan(table.X[:, place])
        if known.sum() >= FEWEST_ROWS and (told := _tells(table.X[known, place], table.y[known])) >= ALMOST:
            same = "equal" if told == 1 else "nearly equal"
            says = f"{same} to the label {table.label!r}: it tells the class of {told:.1%} of the records by itself"
            yield Finding(kind="label", column=name, says=says, dangerous=True)


def _follows(table: Examined) -> Iterator[Finding]:
    """Columns whose order is that of a label that is a number."""
    if table.target is None:
        return
    for place, name in enumerate(table.names):
        known = ~np.isnan(table.X[:, place])
        values, target = table.X[known, place], table.target[known]
        if len(values) < FEWEST_ROWS or min(len(np.unique(values)), len(np.unique(target))) <= MOST_CLASSES:
            continue
        alike = abs(float(np.corrcoef(average_ranks(values), average_ranks(target))[0, 1]))
        if alike >= ALMOST:
            says = (
                f"in the same order as the label {table.label!r} (rank correlation {alike:.3f}): it tells it by itself"
            )
            yield Finding(kind="label", column=name, says=says, dangerous=True)


def _tells(values: Floats, y: Codes) -> float:
    """How many records' class a column tells: by value where values are few, else by its ROC curve."""
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= MOST_CLASSES:
        counts = np.zeros((len(distinct), int(y.max()) + 1))
        np.add.at(counts, (codes, y), 1)
        return float(counts.max(axis=1).sum() / len(y)) if len(distinct) > 1 else 0.0
    if len(np.unique(y)) != 2:
        return 0.0
    positive, ranks = y == y.max(), average_ranks(values)
    count = int(positive.sum())
    area = (ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(y) - count))
    return float(max(area, 1 - area))


def _continuous_label(table: Examined) -> Iterator[Finding]:
    many = len(table.classes) > MOST_CLASSES and len(table.classes) > 0.1 * len(table.y)
    if many and all(_is_number(name) for name in table.classes):
        says = (
            f"{len(table.classes)} different numbers as classes; it looks like a measured quantity, not like a class "
            "(then choose --task regression)"
        )
        yield Finding(kind="continuous", column=table.label, says=says, dangerous=True)


def _spellings(table: Examined) -> Iterator[Finding]:
    columns = zip((table.label, *table.names), (table.classes, *table.levels), strict=True)
    for column, names in columns:
        alike = defaultdict(list)
        for name in names:
            alike[re.sub(r"[\W_]+", "", name.casefold())].append(name)
        twice = next((group for key, group in alike.items() if key and len(group) > 1), None)
        if twice is not None:
            says = f"{' and '.join(map(repr, twice))} are spelt differently and may be the same"
            yield Finding(kind="spelling", column=column, says=says, dangerous=column == table.label)


def _constant(table: Examined) -> Iterator[Finding]:
    for place, name in enumerate(table.names):
        values = table.X[:, place]
        known = values[~np.isnan(values)]
        if len(table.X) > 1 and len(np.unique(known)) <= 1:
            says = "the same value in every record; nothing can be learned from it" if len(known) else "never recorded"
            yield Finding(kind="constant", column=name, says=says)


def _far_off(table: Examined) -> Iterator[Finding]:
    for name, values in _numbers(table):
        if len(values) < FEWEST_ROWS:
            continue
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
        spread = max(high - low, abs(middle) * 1e-3, 1e-12)
        count = int((np.abs(values - middle) > FAR_OFF * spread).sum())
        if count:
            words = "one value is" if count == 1 else f"{count:,} values are"
            says = f"{words} over {FAR_OFF:,.0f} times as far from the middle as most; perhaps a code for missing"
            yield Finding(kind="outlier", column=name, says=says, dangerous=True)


def _duplicates(table: Examined) -> Iterator[Finding]:
    rows = [row.tobytes() + label.tobytes() for row, label in zip(table.X + 0.0, table.y, strict=True)]
    times = Counter(rows)
    if len(times) < 0.8 * len(rows):  # few columns of few values: twins are no surprise
        return
    groups = np.zeros(len(rows), np.int64) if table.group is None else table.group
    within = sum(count - 1 for count in Counter(zip(rows, groups.tolist(), strict=True)).values())
    if within:
        says = f"{within:,} records are exact copies of another of the same site"
        yield Finding(kind="duplicates", column=table.label, says=f"with all others, {says}")
    homes = defaultdict(set)
    for row, group in zip(rows, groups.tolist(), strict=True):
        homes[row].add(group)
    between = sum(len(found) > 1 for found in homes.values())
    if between:
        says = f"{between:,} records stand at several sites, word for word: one may test on what another trains on"
        yield Finding(kind="shared", column=table.site, says=says, dangerous=between >= 3)


def _sites(table: Examined) -> Iterator[Finding]:
    if table.group is None:
        return
    for code, name in enumerate(table.group_names):
        labels = table.y[table.group == code]
        if len(np.unique(labels)) == 1:
            says = f"site {name!r} has records of one class only; it cannot be judged, and teaches others little"
            yield Finding(kind="one-class", column=table.site, says=says)
        elif len(labels) * TEST_PART < FEWEST_TEST_ROWS:
            tested = f"{len(labels) * TEST_PART:.0f}"
            says = f"site {name!r} has {len(labels)} records, about {tested} to test on: too few to judge by"
            yield Finding(kind="few", column=table.site, says=says)


def _numbers(table: Examined) -> Iterator[tuple[str, Floats]]:
    for place, (name, levels) in enumerate(zip(table.names, table.levels, strict=True)):
        values = table.X[:, place]
        values = values[~np.isnan(values)]
        if not levels and len(values):
            yield name, values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_LOOKS: Final[tuple[Callable[[Examined], Iterator[Any]], ...]] = (
    _identifiers,
    _leaks,
    _follows,
    _continuous_label,
    _spellings,
    _constant,
    _far_off,
    _duplicates,
    _sites,
)
