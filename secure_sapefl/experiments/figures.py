"""The paper's two figures: how single sites learn over rounds, and what its weakest sites gain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.describe import described, sources
from secure_sapefl.experiments.plots import gain_bars, trajectories
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.experiments.tables import Document, Sheet, moments, number, percent, points
from secure_sapefl.metrics import Floats
from secure_sapefl.report.charts.drawing import Chart

SHOWN_SITES: Final = 5
LOCAL_EPOCHS: Final = 15  # of the Local-only models that say who is weak
WEAKEST_SHARE: Final = 0.25
UPLIFTED_BY: Final = ("fedavg", "sapefl")

Drawn = tuple[Document, Chart]


def site_trajectories(setting: Setting, task: Task, runner: Runner) -> Drawn:
    """The sites hold the same rows under every seed, so the shade is what training alone varies by."""
    division = setting.base.seed
    cells = [
        replace(setting.cell(task, Contender(method="sapefl"), seed), division_seed=division, every_round=True)
        for seed in setting.seed_values
    ]
    found = runner.run(cells, "training")
    results = [found[cell.digest] for cell in cells]
    accuracy = np.array([result.trajectory for result in results])  # [seed, round, site]
    names = results[0].client_names
    shown = np.random.default_rng(division).choice(len(names), min(SHOWN_SITES, len(names)), replace=False)
    sites = {names[c]: accuracy[:, :, c] for c in sorted(shown.tolist())}
    title = f"SAPE-FL on {task.label}: accuracy of {len(sites)} random sites"
    document = Document(
        name="trajectories",
        title=title,
        setting=(*described(setting), *sources([task], {(task.label, ""): results})),
        sheets=(_milestones(sites),),
        notes=("Every seed trains the same sites, divided by the first seed; ± is over seeds.",),
        records=tuple(record for name, values in sites.items() for record in _round_records(name, values)),
        extra={"clients": list(sites)},
    )
    return document, trajectories("trajectories", title, sites)


def _round_records(site: str, values: Floats) -> Iterator[dict[str, Any]]:
    for round_index, of_seeds in enumerate(values.T, start=1):
        accuracy = moments("", Estimate.over_seeds([[value] for value in of_seeds]))
        yield {"client": site, "round": round_index, **accuracy}


def _milestones(sites: Mapping[str, Floats]) -> Sheet:
    """The first round, every quarter of the way, the last."""
    last = next(iter(sites.values())).shape[1]
    shown = sorted({1, *(max(1, round(last * quarter / 4)) for quarter in range(1, 5))})
    rows = tuple(
        (name, *(percent(Estimate.over_seeds([[value] for value in values[:, r - 1]])) for r in shown))
        for name, values in sites.items()
    )
    return Sheet(title="Accuracy, %", header=("client", *(f"round {r}" for r in shown)), rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakSite:
    seed: int
    place: int  # 0 is the weakest
    name: str
    local: float
    gains: Mapping[str, float]  # by method


def weak_sites(setting: Setting, task: Task, runner: Runner) -> Drawn:
    """Who is weak is decided by Local-only models, what is gained is counted from them."""
    cells: dict[tuple[str, int], Cell] = {}
    for seed in setting.seed_values:
        cells["local", seed] = _local_cell(setting, task, seed)
        cells |= {(method, seed): setting.cell(task, Contender(method=method), seed) for method in UPLIFTED_BY}
    found = runner.run(cells.values(), "training")
    results = {key: found[cell.digest] for key, cell in cells.items()}
    weak = [site for seed in setting.seed_values for site in _weakest(results, seed)]
    document = Document(
        name="weak-clients",
        title=f"What the weakest quarter of sites gains over Local-only, {task.label}",
        setting=(*described(setting), *sources([task], {(task.label, ""): [results["local", setting.base.seed]]})),
        sheets=(_gain_sheet(weak),),
        notes=(
            f"Local-only: {LOCAL_EPOCHS} epochs on a site's own rows. Gains are points of accuracy on its test rows.",
            "Sites are chosen by the accuracy the gain is counted from, so part of every gain is regression to the "
            "mean: compare the methods with each other, not with zero.",
        ),
        records=tuple(_gain_record(site) for site in weak),
        extra={"mean_gain": {method: number(gain.mean) for method, gain in _overall(weak).items()}},
    )
    return document, _gain_chart(weak, task)


def _local_cell(setting: Setting, task: Task, seed: int) -> Cell:
    changes = {"rounds": 1, "participation": 1.0, "local_epochs": LOCAL_EPOCHS}
    alone = replace(setting, base=setting.base.model_copy(update=changes))
    return alone.cell(task, Contender(method="local"), seed)


def _weakest(results: Mapping[tuple[str, int], CellResult], seed: int) -> list[WeakSite]:
    local = results["local", seed]
    count = max(1, round(WEAKEST_SHARE * len(local.main)))
    order = np.argsort(local.main, kind="stable")[:count]
    return [
        WeakSite(
            seed=seed,
            place=place,
            name=local.client_names[c],
            local=local.main[c],
            gains={method: results[method, seed].main[c] - local.main[c] for method in UPLIFTED_BY},
        )
        for place, c in enumerate(order.tolist())
    ]


def _overall(weak: list[WeakSite]) -> dict[str, Estimate]:
    seeds = sorted({site.seed for site in weak})
    return {
        method: Estimate.over_seeds([[c.gains[method] for c in weak if c.seed == seed] for seed in seeds])
        for method in UPLIFTED_BY
    }


def _gain_sheet(weak: list[WeakSite]) -> Sheet:
    rows = [
        (str(c.seed), c.name, f"{100 * c.local:.2f}", *(points(c.gains[method]) for method in UPLIFTED_BY))
        for c in weak
    ]
    mean_local = percent(Estimate(float(np.mean([c.local for c in weak])), None))
    rows.append(("all", "mean", mean_local, *(points(gain.mean) for gain in _overall(weak).values())))
    header = ("seed", "client", "Local-only, %", *(f"{method}, points" for method in UPLIFTED_BY))
    return Sheet(title="Gain of the weakest quarter", header=header, rows=tuple(rows))


def _gain_record(site: WeakSite) -> dict[str, Any]:
    gains = {f"gain_{method}": number(gain) for method, gain in site.gains.items()}
    return {"seed": site.seed, "place": site.place + 1, "client": site.name, "local": site.local, **gains}


def _gain_chart(weak: list[WeakSite], task: Task) -> Chart:
    places = sorted({site.place for site in weak})
    gains = {
        method: [Estimate.over_seeds([[c.gains[method]] for c in weak if c.place == place]) for place in places]
        for method in UPLIFTED_BY
    }
    one_seed = len({site.seed for site in weak}) == 1
    labels = [weak[place].name if one_seed else str(place + 1) for place in places]
    return gain_bars("weak-clients", f"Gain of the weakest sites over Local-only, {task.label}", labels, gains)
