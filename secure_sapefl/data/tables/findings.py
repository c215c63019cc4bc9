"""What ruins studies, found before one begins: each finding is a sentence with the column's name.

A dangerous one stops a run until somebody waves it through by its name (``--accept``). In a private run nothing is
looked for: whether a study takes place must not depend on a record. Owners look for themselves, with `data check`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from secure_sapefl.data.tables.copies import copies
from secure_sapefl.data.tables.examined import FEWEST_ROWS, MOST_CLASSES, Examined, Finding, Floats, spelling
from secure_sapefl.data.tables.leaks import follows, leaks
from secure_sapefl.data.tables.unread import NO_VALUE, ONE_VALUE
from secure_sapefl.errors import BadInput

FEWEST_TEST_ROWS: Final = 10
TEST_PART: Final = 0.2
FAR_OFF: Final = 1e4  # spreads of a column away from its middle
WIDEST: Final = 1e6  # of a column that is nearly constant
_PERSON: Final = r"id|nr|mrn|case|fall|patient|subject|person"
_ENDS: Final = r"nummer|number|num[eé]ro"
_WHOSE: Final = re.compile(rf"(?i:(^|[\W_])({_PERSON})([\W_]|$)|({_ENDS})$)|[a-z]I[Dd]$")
_ID: Final = re.compile(rf"{_WHOSE.pattern}|(?i:(^|[\W_])(no|num|number|record)([\W_]|$))")


def findings(*tables: Examined) -> tuple[Finding, ...]:
    """Each once; a table is given once for every label it has."""
    found = (finding for table in tables for look in _LOOKS for finding in look(table))
    return tuple(dict.fromkeys(found))


def picture_findings(table: Examined) -> tuple[Finding, ...]:
    """Of images, whose one column says which are equal."""
    return tuple(finding for look in (_spellings, copies, _sites) for finding in look(table))


def require_accepted(found: Sequence[Finding], accepted: str) -> None:
    """Stop at dangerous findings that nobody has waved through; ``accepted`` lists names, parted by commas."""
    listed = f",{_tight(accepted)},"
    stopping = [one for one in found if one.dangerous and f",{_tight(one.name)}," not in listed]
    if stopping:
        said = " ".join(one.sentence for one in stopping)
        waved = ",".join([*filter(None, [accepted.strip()]), *(one.name for one in stopping)])
        raise BadInput(
            f"{said} A model of such a table says nothing about patients. Correct the table, or, if it is meant, wave "
            f"it through: --accept '{waved}'."
        )


def _tight(names: str) -> str:
    """Without spaces at commas, which part names and may be in one."""
    return re.sub(r"\s*,\s*", ",", names.strip())


def _identifiers(table: Examined) -> Iterator[Finding]:
    for name, values in _numbers(table):
        if len(values) < FEWEST_ROWS or bool((values != np.round(values)).any()):
            continue
        different = len(np.unique(values))
        if different == len(values):
            counting = values.max() - values.min() == len(values) - 1
            if counting or _ID.search(name):
                says = "a different whole number in every record, like a case number; a model would learn the order"
                yield Finding(kind="identifier", column=name, says=says, dangerous=True)
        elif different > max(MOST_CLASSES, 0.1 * len(values)) and _WHOSE.search(name):
            says = f"{different:,} different whole numbers, called like a person's; let a schema say so (person = …)"
            yield Finding(kind="identifier", column=name, says=says, dangerous=True)


def _continuous_label(table: Examined) -> Iterator[Finding]:
    if len(table.classes) < 3 or not all(_is_number(name) for name in table.classes):
        return
    numbers = sorted(float(name) for name in table.classes)
    many = len(numbers) > MOST_CLASSES
    coded = numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    if (many and (not coded or len(numbers) > 0.1 * len(table.y))) or any(value % 1 for value in numbers):
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
            alike[spelling(name)].append(name)
        twice = next((group for group in alike.values() if len(group) > 1), None)
        if twice is not None:
            says = f"{' and '.join(map(repr, twice))} are spelt differently and may be the same"
            yield Finding(kind="spelling", column=column, says=says, dangerous=column == table.label)


def _constant(table: Examined) -> Iterator[Finding]:
    for place, name in enumerate(table.names):
        values = table.X[:, place]
        known = values[~np.isnan(values)]
        if len(table.X) > 1 and len(np.unique(known)) <= 1:
            yield Finding(kind="constant", column=name, says=ONE_VALUE if len(known) else NO_VALUE)


def _far_off(table: Examined) -> Iterator[Finding]:
    for name, values in _numbers(table):
        if len(values) < FEWEST_ROWS:
            continue
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
        away = np.abs(values - middle)
        usual = float(np.median(away[away > 0])) if (away > 0).any() else 0.0
        spread = max(high - low or min(usual, WIDEST), abs(middle) * 1e-3)  # most may be equal: 0, and seldom 1
        count = int((away > FAR_OFF * spread).sum())
        if count:
            words = "one value is" if count == 1 else f"{count:,} values are"
            says = f"{words} over {FAR_OFF:,.0f} times as far from the middle as most; perhaps a code for missing"
            yield Finding(kind="outlier", column=name, says=says, dangerous=True)


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
    leaks,
    follows,
    _continuous_label,
    _spellings,
    _constant,
    _far_off,
    copies,
    _sites,
)
