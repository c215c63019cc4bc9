"""Table 1 of a multi-centre study, from totals: n, missing, mean, deviation, quartiles and levels, by outcome.

Small cells are left out, and others from which they would follow (`small_cells.py`). Quartiles are read off histograms,
with records spread evenly in a bin, and no finer than bins are: more digits would tell how many records are in one. The
digits of a mean tell by how many it was divided, so there are few of them where that number is left out.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np

from secure_sapefl.data.tables.features import Date, Measured
from secure_sapefl.data.tables.schema import TableSchema
from secure_sapefl.data.tables.small_cells import hidden_cells
from secure_sapefl.data.tables.tally import BINS, Counts, Tally, by_class, range_of, together
from secure_sapefl.plain_text import printable

SMALLEST: Final = 5
Value = float | str | None
"""A number, a day, or None where it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    column: str
    says: str  # missing, mean, sd, q1, median, q3, or a level
    values: tuple[Value, ...]  # of all, then of each class


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOne:
    groups: tuple[str, ...]
    lines: tuple[Line, ...]
    smallest: int

    def to_json(self) -> dict[str, Any]:
        lines = [
            {"column": one.column, "says": one.says, "values": dict(zip(self.groups, one.values, strict=True))}
            for one in self.lines
        ]
        return {"groups": list(self.groups), "smallest_cell": self.smallest, "lines": lines}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "TableOne":
        """Back from `to_json`, perhaps another party's: its words are made fit to be shown."""
        groups = tuple(printable(str(name)) for name in fields["groups"])
        lines = tuple(
            Line(
                column=printable(str(one["column"])),
                says=printable(str(one["says"])),
                values=tuple(_value(one["values"][name]) for name in fields["groups"]),
            )
            for one in fields["lines"]
        )
        return cls(groups=groups, lines=lines, smallest=int(fields["smallest_cell"]))

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["column", "says", *self.groups])
        writer.writerows([one.column, one.says, *("" if v is None else v for v in one.values)] for one in self.lines)
        return text.getvalue()

    def shown(self) -> list[tuple[str, ...]]:
        return [(one.column, one.says, *map(_shown, one.values)) for one in self.lines]


def table_one(totals: Counts, schema: TableSchema, smallest: int = SMALLEST, *, noised: bool = False) -> TableOne:
    """``noised``: the sums are noise, so that means and deviations come from histograms."""
    rows = by_class(schema).read(totals)
    columns = [[row[place] for row in rows] for place in range(len(schema.features))]
    groups = [[together(tuple(one)), *one] for one in columns]
    fewest = min(groups, key=lambda tallies: len(tallies[0].cells))  # all say the same; noised, it has the least noise
    records = tuple(max(0, one.present + one.missing) for one in fewest)
    known = (records[0], *_suppressed(records[1:], smallest))
    lines = [Line(column="records", says="n", values=known)]
    for feature, tallies in zip(schema.features, groups, strict=True):
        lines += list(_lines(feature, tallies, known, smallest, noised))
    return TableOne(groups=("all", *schema.classes), lines=tuple(lines), smallest=smallest)


def _lines(
    feature: Any, tallies: Sequence[Tally], records: Sequence[Value], smallest: int, noised: bool
) -> Iterator[Line]:
    measured = isinstance(feature, Measured)
    levels = [[one.present] if measured else one.cells for one in tallies]
    counts = np.maximum([[one.missing, *cells] for one, cells in zip(tallies, levels, strict=True)], 0).T
    hidden = hidden_cells(counts, [one is None for one in records], smallest, unseen=(1,) if measured else ())
    for says, row, left_out in zip(("missing", *(() if measured else feature.levels)), counts, hidden, strict=False):
        yield Line(column=feature.name, says=says, values=tuple(_kept(row.tolist(), left_out)))
    if not measured:
        return
    enough = (counts[1, 0], *_suppressed(counts[1, 1:].tolist(), smallest))
    found = [
        _numbers(feature, one, noised, few_digits=out) if count is not None and count >= smallest else (None,) * 5
        for one, count, out in zip(tallies, enough, hidden[0], strict=True)
    ]
    for place, says in enumerate(("mean", "sd", "q1", "median", "q3")):
        yield Line(column=feature.name, says=says, values=tuple(one[place] for one in found))


def _kept(counts: Sequence[int], left_out: Sequence[bool]) -> Iterator[Value]:
    yield from (None if out else count for count, out in zip(counts, left_out, strict=True))


def _numbers(feature: Measured, tally: Tally, noised: bool, *, few_digits: bool) -> tuple[Value, ...]:
    allowed = range_of(feature)
    extent = allowed.high - allowed.low
    mean, spread = (extent * value for value in tally.moments(noised=noised))
    fine = _step(spread / 10) if few_digits and spread > 0 else 1e-6
    quartiles = [_to(_step(extent / BINS), allowed.low + extent * tally.quantile(q)) for q in (0.25, 0.5, 0.75)]
    at = [_said(feature, value) for value in (_to(fine, allowed.low + mean), *quartiles)]
    return at[0], round(_to(fine, spread), 6), *at[1:]


def _step(width: float) -> float:
    """The largest of 1, 2 and 5, times a power of ten, that is no wider."""
    power = 10.0 ** math.floor(math.log10(width))
    return max(one * power for one in (1, 2, 5) if one * power <= width)


def _to(step: float, value: float) -> float:
    return round(value / step) * step


def _said(feature: Measured, value: float) -> Value:
    return (feature.reference + timedelta(days=value)).isoformat() if isinstance(feature, Date) else round(value, 6)


def _suppressed(counts: Sequence[int], smallest: int) -> tuple[Value, ...]:
    """Counts that add up to a number readers may know: none below ``smallest``, and never a single one left out."""
    small = {place for place, count in enumerate(counts) if 0 < count < smallest}
    others = [place for place, count in enumerate(counts) if count and place not in small]
    if len(small) == 1 and others:
        small.add(min(others, key=lambda place: counts[place]))
    return tuple(None if place in small else count for place, count in enumerate(counts))


def _value(value: object) -> Value:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return printable(str(value))


def _shown(value: Value) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:,.5g}" if isinstance(value, float) else f"{value:,}"
