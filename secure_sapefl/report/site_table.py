"""Sites × runs: what each site has of every run, and whether taking part was worth it there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from secure_sapefl.intervals import Interval
from secure_sapefl.report import formats
from secure_sapefl.report.comparison import ComparedRun, same_rows
from secure_sapefl.report.model_card import rows_tested
from secure_sapefl.report.run import Run
from secure_sapefl.worth import judged, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine:
    site: str
    test_rows: int | None
    accuracies: tuple[Interval, ...]  # in the order of the table's runs; without bounds where no rows are known
    verdict: str | None

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(map(_cell, self.accuracies))


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTable:
    runs: tuple[Run, ...]
    lines: tuple[SiteLine, ...]


def site_table(compared: Sequence[ComparedRun]) -> SiteTable | None:
    """Of the runs that have the first one's rows; None where there is no other."""
    first = compared[0].run
    runs = tuple(one.run for one in compared if same_rows(one.run, first))
    if len(runs) < 2:
        return None
    rows = rows_tested(first)
    lines = (_line(runs, place, None if rows is None else rows[place]) for place in range(len(first.sites)))
    return SiteTable(runs=runs, lines=tuple(lines))


def _line(runs: Sequence[Run], place: int, rows: int | None) -> SiteLine:
    values = [run.last.personal.accuracy.per_client[place] for run in runs]
    found = tuple(Interval(value, math.nan, math.nan) if rows is None else judged(value, rows) for value in values)
    methods = [(run.summary["method"], interval) for run, interval in zip(runs, found, strict=True)]
    verdict = None if rows is None else verdict_of(methods)
    return SiteLine(site=runs[0].sites[place], test_rows=rows, accuracies=found, verdict=verdict)


def _cell(found: Interval) -> str:
    if math.isnan(found.low):
        return formats.percent(found.value)
    return f"{formats.percent(found.value)} ({100 * found.low:.0f}–{100 * found.high:.0f})"
