"""Sites × methods: what a comparison says to each site, and whether taking part was worth it there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.experiments.cells import CellResult
from secure_sapefl.experiments.compare import Comparison
from secure_sapefl.experiments.setting import Task
from secure_sapefl.experiments.site_intervals import MOST_SITES
from secure_sapefl.experiments.statistics import mean_of_defined
from secure_sapefl.experiments.tables import NOTHING, Sheet, is_share, number
from secure_sapefl.intervals import Interval
from secure_sapefl.report.shown import ACCURACY, Shown
from secure_sapefl.worth import judged, verdict_of

NOTE: Final = (
    "A site's interval is what its test rows of one split can say (95 %; Wilson of an accuracy, else bootstrap), "
    "around the mean over seeds; where two overlap, the difference may be luck."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRow:
    """One site's line: its main metric under each method, in the order of the contenders."""

    site: str
    test_rows: int
    by_method: dict[str, Interval]
    verdict: str | None  # None where training alone, a common and a personal model were not all compared


def site_rows(comparison: Comparison, task: Task) -> tuple[SiteRow, ...]:
    contenders, by = comparison.request.contenders, comparison.shown(task)[0]
    results = {one.label: comparison.results[task.label, one.label] for one in contenders}
    first = results[contenders[0].label][0]
    rows = first.test_rows or (0,) * len(first.client_names)
    found = []
    for place, (site, count) in enumerate(zip(first.client_names, rows, strict=True)):
        by_method = {label: _over_seeds(row, place, count, by) for label, row in results.items()}
        known = by == ACCURACY or bool(first.low)
        verdict = verdict_of([(one.method, by_method[one.label]) for one in contenders], by) if known else None
        found.append(SiteRow(site=site, test_rows=count, by_method=by_method, verdict=verdict))
    return tuple(found)


def _over_seeds(seeds: tuple[CellResult, ...], place: int, rows: int, by: Shown) -> Interval:
    mean = mean_of_defined([one.main[place] for one in seeds])
    if by == ACCURACY:
        return judged(mean, rows)
    sure = [one for one in seeds if one.low]
    low, high = mean_of_defined([one.low[place] for one in sure]), mean_of_defined([one.high[place] for one in sure])
    return Interval(mean, low, high)


def site_sheets(comparison: Comparison) -> Iterator[Sheet]:
    """For every dataset with few enough sites to read."""
    for task in comparison.request.tasks:
        rows = site_rows(comparison, task)
        if len(rows) > MOST_SITES or not any(row.test_rows for row in rows):
            continue
        labels = tuple(contender.label for contender in comparison.request.contenders)
        by = comparison.shown(task)[0]
        cells = tuple((row.site, str(row.test_rows), *(_cell(row.by_method[k], by) for k in labels)) for row in rows)
        title = f"{task.label}: {by.title} at each site{', %' if is_share(by) else by.direction} (interval)"
        yield Sheet(title=title, header=_header(labels), rows=cells)
        said = tuple((row.site, row.verdict) for row in rows if row.verdict is not None)
        if said:
            yield Sheet(title=f"{task.label}: was it worth it?", header=("site", "verdict"), rows=said)


def site_records(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "dataset": task.label,
            "site": row.site,
            "test_rows": row.test_rows,
            comparison.shown(task)[0].name: {label: _record(found) for label, found in row.by_method.items()},
            "verdict": row.verdict,
        }
        for task in comparison.request.tasks
        for row in site_rows(comparison, task)
    ]


def _header(labels: tuple[str, ...]) -> tuple[str, ...]:
    return ("site", "test rows", *labels)


def _cell(found: Interval, by: Shown) -> str:
    if number(found.value) is None:
        return NOTHING
    if is_share(by):
        return f"{100 * found.value:.1f} ({100 * found.low:.0f}–{100 * found.high:.0f})"
    return f"{found.value:.3g} ({found.low:.3g} to {found.high:.3g})"


def _record(found: Interval) -> dict[str, float | None]:
    return {name: number(value) for name, value in found.to_json().items()}
