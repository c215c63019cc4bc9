"""Sites × methods: what a comparison says to each site, and whether taking part was worth it there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from secure_sapefl.experiments.compare import Comparison
from secure_sapefl.experiments.setting import Contender, Task
from secure_sapefl.experiments.statistics import mean_of_defined
from secure_sapefl.experiments.tables import NOTHING, Sheet, number
from secure_sapefl.intervals import Interval
from secure_sapefl.worth import Worth, judged

MOST_SITES: Final = 40  # more lines than that are read by programs; the JSON file has them all
ALONE: Final = "local"
COMMON: Final = ("fedavg", "fedprox")  # methods whose sites all use one model
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
    results = {one.label: comparison.results[task.label, one.label] for one in contenders}
    first = results[contenders[0].label][0]
    rows = first.test_rows or (0,) * len(first.client_names)
    found = []
    for place, (site, count) in enumerate(zip(first.client_names, rows, strict=True)):
        means = {label: mean_of_defined([one.accuracy[place] for one in row]) for label, row in results.items()}
        by_method = {label: judged(mean, count) for label, mean in means.items()}
        found.append(SiteRow(site=site, test_rows=count, by_method=by_method, verdict=_verdict(contenders, by_method)))
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


def _verdict(contenders: Sequence[Contender], found: dict[str, Interval]) -> str | None:
    """Of the first personal method named: choosing the one that did best would choose the luckiest."""
    personal = [one.label for one in contenders if one.method not in (ALONE, *COMMON)]
    common = [one.label for one in contenders if one.method in COMMON]
    alone = [one.label for one in contenders if one.method == ALONE]
    if not (personal and common and alone):
        return None
    return Worth(alone=found[alone[0]], common=found[common[0]], own=found[personal[0]]).verdict


def _header(labels: tuple[str, ...]) -> tuple[str, ...]:
    return ("site", "test rows", *labels)


def _cell(found: Interval) -> str:
    if number(found.value) is None:
        return NOTHING
    return f"{100 * found.value:.1f} ({100 * found.low:.0f}–{100 * found.high:.0f})"


def _record(found: Interval) -> dict[str, float | None]:
    return {name: number(value) for name, value in found.to_json().items()}
