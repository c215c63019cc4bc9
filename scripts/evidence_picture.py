"""One picture of all methods, from the runs that `scripts/evidence.py` keeps: docs/figures/methods.png.

Rank over studies with its interval, what the weakest tenth of sites gain over training alone, what a round costs, and
what each party gets to see. Costs are of a short encrypted run of each method, made by `evidence.py --costs`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from evidence_kept import Kept
from evidence_page import best_first, finished, places, weakest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl import Config, simulate
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.intervals import bootstrap_mean
from secure_sapefl.protocol.disclosure import Exposure
from secure_sapefl.report.charts.drawing import INK, SERIES, Chart

ALONE: Final = "local"
COSTED: Final = {"clients": 20, "rounds": 3, "rows": 4000, "evaluate_every": 3}
TURNS: Final = 3
PARTIES: Final = ("update", "score", "personal model")

Costs = dict[str, dict[str, float]]


def costs(version: str, commit: str) -> dict[str, Any]:
    """Seconds without evaluation, and bytes a site sends and receives a round, of every method in turn. Of several
    turns the fastest counts: what else a machine does makes a run slower, never faster."""
    turns = [{method: cost_of(method) for method in ALGORITHMS} for _ in range(TURNS)]
    fastest = {method: min((turn[method] for turn in turns), key=lambda one: one["seconds"]) for method in ALGORITHMS}
    return {"settings": COSTED, "turns": TURNS, "version": version, "commit": commit, "methods": fastest}


def cost_of(method: str) -> dict[str, float]:
    summary = simulate(Config(method=method, **COSTED)).summary()
    seconds, traffic = summary["seconds"], summary["bytes"]
    return {
        "seconds": round((seconds["total"] - seconds["evaluate"]) / COSTED["rounds"], 3),
        "up": traffic["up_per_client_round"],
        "down": traffic["down_per_client_round"],
    }


def ranks(kept: Mapping[str, Kept]) -> dict[str, list[float]]:
    """Of every method, its rank in each study that is finished."""
    orders = [best_first(one) for one in finished(kept)]
    return {method: [1.0 + order.index(method) for order in orders] for method in ALGORITHMS}


def gains(kept: Mapping[str, Kept]) -> dict[str, list[float]]:
    """Of every method, by how many points the weakest tenth of sites is above training alone, in each study."""
    tenths = [places(weakest(one), "main") for one in finished(kept)]
    return {
        method: [100 * (tenth[method].estimate.mean - tenth[ALONE].estimate.mean) for tenth in tenths]
        for method in ALGORITHMS
    }


def seen(method: str) -> Iterator[tuple[str, str]]:
    """What server and peers read of a site's messages, with encryption as by default."""
    views = Exposure(algorithm=ALGORITHMS[method], protection="ckks", scores="open").disclosures()
    for one in views:
        if one.item in PARTIES:
            yield (
                one.item,
                "".join(who for who, view in (("S", one.server), ("P", one.sites)) if view.level == "readable"),
            )


def picture(kept: Mapping[str, Kept], cost: Costs) -> Chart:
    placed = ranks(kept)
    order = sorted(placed, key=lambda method: float(np.mean(placed[method])), reverse=True)
    studies, least = len(placed[ALONE]), gains(kept)

    def draw(figure: Figure) -> None:
        one, two, three, four, five = figure.subplots(1, 5, sharey=True, width_ratios=(3, 3, 2, 2, 2.4))
        _intervals(one, [placed[method] for method in order], f"rank, mean of {studies} studies")
        _intervals(two, [least[method] for method in order], "weakest tenth of sites:\npoints above Local-only")
        two.axvline(0, color=INK, linewidth=0.8)
        common = cost["fedavg"]["seconds"]
        _bars(three, [cost[method]["seconds"] / common for method in order], "seconds a round,\nFedAvg = 1")
        _bars(four, [(cost[method]["up"] + cost[method]["down"]) / 1e6 for method in order], "MB a site and round")
        _table(five, [dict(seen(method)) for method in order])
        one.set_yticks(range(len(order)), order)

    return Chart(
        name="methods",
        title="All methods at a glance",
        caption="Bars: 95 %, bootstrap over studies. S: the server reads it, P: peers read it, –: nobody else does.",
        alt=f"Methods by mean rank, best first: {', '.join(reversed(order))}.",
        draw=draw,
        width=11.5,
        height=0.9 + 0.28 * len(order),
    )


def _intervals(axes: Axes, rows: Sequence[Sequence[float]], label: str) -> None:
    for place, values in enumerate(rows):
        found = bootstrap_mean(values)
        if found.low is not None:
            axes.plot((found.low, found.high), (place, place), color=SERIES[0], linewidth=1.5)
        axes.plot(found.mean, place, "o", color=SERIES[0], markersize=5)
    axes.set_xlabel(label)


def _bars(axes: Axes, values: Sequence[float], label: str) -> None:
    axes.barh(range(len(values)), values, color=SERIES[0], height=0.6)
    for place, value in enumerate(values):
        axes.annotate(
            f"{value:.1f}", (value, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_xlim(0, 1.3 * max(values))
    axes.set_xlabel(label)


def _table(axes: Axes, rows: Sequence[Mapping[str, str]]) -> None:
    for place, row in enumerate(rows):
        for column, item in enumerate(PARTIES):
            axes.text(column, place, row.get(item, "") or "–", ha="center", va="center", fontsize=8.5)
    axes.set_xlim(-0.6, len(PARTIES) - 0.4)
    axes.set_xticks(range(len(PARTIES)), ["update", "score", "own\nmodel"])
    axes.set_xlabel("who else reads it")
    axes.grid(visible=False)
