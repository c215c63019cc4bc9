"""The tables of docs/reproducing-the-paper.md, from the runs that `scripts/evidence.py` keeps. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from evidence_choices import chosen
from evidence_kept import Kept, between_marks, commands, defined

from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.experiments.statistics import PerSeed, Placement, mean_of_defined, placements
from secure_sapefl.experiments.tables import NOTHING, markdown_table


@dataclass(frozen=True, kw_only=True)
class Section:
    title: str
    studies: Mapping[str, str]  # by name, what the column is called


SECTIONS: Final = (
    Section(
        title="100 sites, 100 rounds, label skew",
        studies={"synthetic": "synthetic", "few-rows": "synthetic, 40 rows a site", "har": "HAR", "accgyro": "AccGyro"},
    ),
    Section(
        title="The same with server momentum 0.7",
        studies={"synthetic-momentum": "synthetic", "har-momentum": "HAR"},
    ),
    Section(title="Sites by nature", studies={"har-persons": "HAR, 30 persons", "heart": "heart, 4 hospitals"}),
    Section(
        title="Groups of sites that disagree",
        studies={
            "clustered-20": "20 sites, κ 5",
            "clustered-40": "40 sites, κ 5",
            "clustered-20-skewed": "20 sites, κ 0.5",
            "clustered-40-skewed": "40 sites, κ 0.5",
        },
    ),
    Section(
        title="Images, 50 sites, 30 rounds",
        studies={name: name for name in ("mnist", "fmnist", "emnist", "cifar10", "cifar100")},
    ),
    Section(
        title="Tuned alike",
        studies={"synthetic-tuned": "synthetic", "har-tuned": "HAR", "clustered-40-tuned": "40 sites, κ 5"},
    ),
)


def written(page: str, kept: Mapping[str, Kept]) -> str:
    """The page with its tables renewed."""
    sections = (part for section in SECTIONS for part in _section(section, kept))
    return between_marks(page, [*_pictured(kept), *chosen(kept), *sections])


def finished(kept: Mapping[str, Kept]) -> list[Kept]:
    """Studies that every method has its seeds of."""
    return [one for one in kept.values() if len(best_first(one)) == len(ALGORITHMS)]


def _pictured(kept: Mapping[str, Kept]) -> Iterator[str]:
    if finished(kept):
        yield "![All methods: rank, weakest sites, cost, and who reads what](figures/methods.png)"


def best_first(kept: Kept) -> list[str]:
    """Methods with all their seeds, by accuracy."""
    return sorted(found := places(kept, "main"), key=lambda method: found[method].rank)


def _section(section: Section, kept: Mapping[str, Kept]) -> Iterator[str]:
    there = {name: title for name, title in section.studies.items() if places(kept[name], "main")}
    if not there:
        return
    yield f"### {section.title}"
    for which, heading in (("main", "Accuracy, %"), ("second", "AUC, %")):
        yield f"{heading}:"
        yield _table({title: places(kept[name], which) for name, title in there.items()})
    yield "Accuracy of the weakest tenth of sites, %:"
    yield _table({title: places(weakest(kept[name]), "main") for name, title in there.items()}, marked=False)
    yield commands([kept[name] for name in there])


def _table(columns: Mapping[str, Mapping[str, Placement]], *, marked: bool = True) -> str:
    rows = [method for method in ALGORITHMS if any(method in column for column in columns.values())]
    lines = [(f"`{row}`", *(_cell(column.get(row), marked) for column in columns.values())) for row in rows]
    return markdown_table(("method", *columns), lines)


def _cell(place: Placement | None, marked: bool) -> str:
    """Bold for the first, a dot for whoever is not told apart from it."""
    if place is None or np.isnan(place.estimate.mean):
        return NOTHING
    spread = "" if place.estimate.std is None else f" ± {100 * place.estimate.std:.1f}"
    text = f"{100 * place.estimate.mean:.1f}{spread}"
    if not marked or place.duel is None:
        return text
    return f"**{text}**" if place.rank == 1 else text if place.duel.beyond_noise else f"{text} ·"


def places(kept: Kept, which: str) -> dict[str, Placement]:
    """Of methods that have as many seeds as any."""
    found: dict[str, dict[int, Sequence[float]]] = {}
    for run in kept["runs"]:
        if run["judged_on"] == "test":
            found.setdefault(run["method"], {})[run["seed"]] = defined(run[which])
    most = max(map(len, found.values()), default=0)
    whole: dict[str, PerSeed] = {
        method: [seeds[seed] for seed in sorted(seeds)] for method, seeds in found.items() if len(seeds) == most
    }
    return placements(whole) if whole else {}


def weakest(kept: Kept) -> Kept:
    """Of every run, a mean over the tenth of sites that fare worst, at least one."""

    def weakest(values: Sequence[float | None]) -> float:
        sites = sorted(value for value in values if value is not None)
        return mean_of_defined(sites[: max(1, len(sites) // 10)])

    return {**kept, "runs": [{**run, "main": [weakest(run["main"])]} for run in kept["runs"]]}
