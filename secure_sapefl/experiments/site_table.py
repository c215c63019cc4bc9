"""Sites × methods: what a comparison says to each site, and whether taking part was worth it there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.experiments.compare import Comparison
from secure_sapefl.experiments.setting import Task
from secure_sapefl.experiments.statistics import mean_of_defined
from secure_sapefl.experiments.tables import NOTHING, Sheet, number
from secure_sapefl.intervals import Interval
from secure_sapefl.report.shown import ACCURACY
from secure_sapefl.worth import judged, verdict_of

MOST_SITES: Final = 40  # more lines than that are read by programs; the JSON file has them all
NOTE: Final = (
    "A site's interval is what its test rows of one split can say (95 %, Wilson), around the mean over seeds; where "
    "two overlap, the difference may be luck."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRow:
    """One site's line: accuracy under each method, in the order of the contenders."""

    site: str
    test_rows: int
    by_method: dict[str, Interval]
    verdict: str | None  # None where training alone, a common and a personal model were not all compared


def site_rows(comparison: Comparison, task: Task) -> tuple[SiteRow, ...]:
    contenders = comparison.request.contenders
    if comparison.shown(task)[0] != ACCURACY:  # a site's interval is that of a share of its test rows
        return ()
    results = {one.label: comparison.results[task.label, one.label] for one in contenders}
    first = results[contenders[0].label][0]
    rows = first.test_rows or (0,) * len(first.client_names)
    found = []
    for place, (site, count) in enumerate(zip(first.client_names, rows, strict=True)):
        means = {label: mean_of_defined([one.main[place] for one in row]) for label, row in results.items()}
        by_method = {label: judged(mean, count) for label, mean in means.items()}
        verdict = verdict_of([(one.method, by_method[one.label]) for one in contenders])
        found.append(SiteRow(site=site, test_rows=count, by_method=by_method, verdict=verdict))
    return tuple(found)


def site_sheets(comparison: Comparison) -> Iterator[Sheet]:
    """For every dataset with few enough sites to read."""
    for task in comparison.request.tasks:
        rows = site_rows(comparison, task)
        if len(rows) > MOST_SITES or not any(row.test_rows for row in rows):
            continue
        labels = tuple(contender.label for contender in comparison.request.contenders)
        cells = tuple((row.site, str(row.test_rows), *(_cell(row.by_method[one]) for one in labels)) for row in rows)
        yield Sheet(title=f"{task.label}: accuracy at each site, % (interval)", header=_header(labels), rows=cells)
        said = tuple((row.site, row.verdict) for row in rows if row.verdict is not None)
        if said:
            yield Sheet(title=f"{task.label}: was it worth it?", header=("site", "verdict"), rows=said)


def site_records(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "dataset": task.label,
            "site": row.site,
            "test_rows": row.test_rows,
            "accuracy": {label: _record(found) for label, found in row.by_method.items()},
            "verdict": row.verdict,
        }
        for task in comparison.request.tasks
        for row in site_rows(comparison, task)
    ]


def _header(labels: tuple[str, ...]) -> tuple[str, ...]:
    return ("site", "test rows", *labels)


def _cell(found: Interval) -> str:
    if number(found.value) is None:
        return NOTHING
    return f"{100 * found.value:.1f} ({100 * found.low:.0f}–{100 * found.high:.0f})"


def _record(found: Interval) -> dict[str, float | None]:
    return {name: number(value) for name, value in found.to_json().items()}
