"""Chest X-rays and blood cells, with the CNN, at eight sites that see different patients."""

from pathlib import Path
from statistics import fmean

import numpy as np
from common import Finished, Setting, listed, run_all, say, signed, table, title
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from secure_sapefl.data import Federation
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.report.charts.drawing import MARKERS, SERIES, Chart, save_png

SIMULATION = Path(__file__).with_name("simulation.toml")
DATASETS = {"pneumonia": "Chest X-rays: pneumonia or not", "blood": "Blood cells: which of eight kinds"}
METHODS = {"local": "alone", "fedavg": "FedAvg", "sapefl": "SAPE-FL"}


def main(setting: Setting) -> None:
    small = {"rows": 240, "clients": 3} if setting.quick else {}
    configs = {
        f"{dataset}-{method}": setting.config(SIMULATION, **({"dataset": dataset, "method": method} | small))
        for dataset in DATASETS
        for method in METHODS
    }
    runs = run_all(configs, setting.out)
    for dataset, what in DATASETS.items():
        title(what)
        mine = {method: runs[f"{dataset}-{method}"] for method in METHODS}
        federation = federation_of(configs[f"{dataset}-sapefl"])
        say(f"{federation.source}; {len(federation.clients)} sites, dealt by Dirichlet draws of classes.")
        _sites(federation, mine)
        say(verdict({method: run.result.accuracy.per_client for method, run in mine.items()}))
        draw(what, federation, mine, setting.out / f"{dataset}.png")


def _sites(federation: Federation, runs: dict[str, Finished]) -> None:
    """Accuracy at every site, and of AUC the mean: with few kinds of patients a site's own is often undefined."""
    columns = [run.result.accuracy.per_client for run in runs.values()]
    shares = federation.class_counts() / federation.class_counts().sum(1, keepdims=True)
    rows = [
        (client.name, len(client.train), f"{100 * share.max():.0f}", *(f"{100 * column[c]:.1f}" for column in columns))
        for c, (client, share) in enumerate(zip(federation.clients, shares, strict=True))
    ]
    means = [f"{100 * fmean(column):.1f}" for column in columns]
    aucs = [f"{100 * run.result.auc.mean:.1f}" for run in runs.values()]
    header = ("accuracy, %", "rows", "commonest class", *METHODS.values())
    table(header, [*rows, ("mean", "", "", *means), ("mean AUC", "", "", *aucs)])


def verdict(accuracy: dict[str, tuple[float, ...]]) -> str:
    """Who is ahead on average, and at how many sites each way of learning together beats training alone."""
    alone, best = accuracy["local"], max(accuracy, key=lambda method: fmean(accuracy[method]))
    counts = [
        f"{METHODS[method]} at {sum(a > b for a, b in zip(accuracy[method], alone, strict=True))} of {len(alone)} "
        f"({signed(fmean(accuracy[method]) - fmean(alone))} points on average)"
        for method in accuracy
        if method != "local"
    ]
    return f"Best on average: {METHODS[best]}. Better than alone: {listed(counts)}. One division and one seed."


def draw(what: str, federation: Federation, runs: dict[str, Finished], path: Path) -> None:
    def panels(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        places = np.arange(len(federation.clients))
        for i, (method, run) in enumerate(runs.items()):
            values = 100 * np.array(run.result.accuracy.per_client)
            above.plot(places + (i - 1) * 0.15, values, MARKERS[i], color=SERIES[i], label=METHODS[method])
        above.set(ylabel="accuracy, %", ylim=(0, 104))
        figure.legend(ncols=3, loc="outside lower center")
        _mix(below, federation, places)

    alt = f"{what}: accuracy of three methods at each site, above the mix of classes there."
    save_png(Chart(name=path.stem, title=what, caption="", alt=alt, draw=panels, height=3.6), path)


def _mix(axes: Axes, federation: Federation, places: NDArray[np.int64]) -> None:
    """The share of each class at each site, one shade a class."""
    counts = federation.class_counts()
    shares = 100 * counts / counts.sum(1, keepdims=True)
    below = np.zeros(len(counts))
    for shade, share in zip(np.linspace(0.25, 0.95, federation.classes), shares.T, strict=True):
        axes.bar(places, share, bottom=below, color=str(shade), edgecolor="white", linewidth=0.5)
        below += share
    axes.set(ylabel="classes, %", xlabel="site", xticks=places)
    axes.set_xticklabels([client.name.removeprefix("client-") for client in federation.clients])
