"""Sites × runs: what each site has of every run, and whether taking part was worth it there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from secure_sapefl.intervals import Interval
from secure_sapefl.report import formats
from secure_sapefl.report.comparison import ComparedRun, same_rows
from secure_sapefl.report.model_card import rows_tested
from secure_sapefl.report.run import Run
from secure_sapefl.report.shown import ACCURACY, Shown
from secure_sapefl.worth import judged, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLine:
    site: str
    test_rows: int | None
    found: tuple[Interval, ...]  # in the order of the table's runs; without bounds where rows do not tell them
    verdict: str | None
    by: Shown = ACCURACY

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(_cell(one, self.by) for one in self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTable:
    runs: tuple[Run, ...]
    lines: tuple[SiteLine, ...]

    @property
    def by(self) -> Shown:
        return self.runs[0].main

    @property
    def says(self) -> str:
        """Of the numbers in it."""
        if self.by != ACCURACY:
            return f"{self.by.heading}{self.by.direction}; secure-sapefl compare adds intervals and verdicts."
        return (
            "In brackets what those rows can say (95 %, Wilson), where the data is on this machine. Where two overlap, "
            "the difference may be luck."
        )


def site_table(compared: Sequence[ComparedRun]) -> SiteTable | None:
    """Of the runs that have the first one's rows and metric; None where there is no other."""
    first = compared[0].run
    runs = tuple(one.run for one in compared if same_rows(one.run, first) and one.run.main == first.main)
    if len(runs) < 2:
        return None
    rows = rows_tested(first)
    lines = (_line(runs, place, None if rows is None else rows[place]) for place in range(len(first.sites)))
    return SiteTable(runs=runs, lines=tuple(lines))


def _line(runs: Sequence[Run], place: int, rows: int | None) -> SiteLine:
    """The interval of an accuracy follows from its rows; that of another metric `compare` computes, which has them."""
    by = runs[0].main
    values = [by.own(run.last).per_client[place] for run in runs]
    if rows is None or by != ACCURACY:
        bare = tuple(Interval(value, math.nan, math.nan) for value in values)
        return SiteLine(site=runs[0].sites[place], test_rows=rows, found=bare, verdict=None, by=by)
    found = tuple(judged(value, rows) for value in values)
    methods = [(run.summary["method"], interval) for run, interval in zip(runs, found, strict=True)]
    return SiteLine(site=runs[0].sites[place], test_rows=rows, found=found, verdict=verdict_of(methods))


def _cell(found: Interval, by: Shown) -> str:
    if math.isnan(found.low):
        return by.form(found.value)
    return f"{formats.percent(found.value)} ({100 * found.low:.0f}–{100 * found.high:.0f})"
