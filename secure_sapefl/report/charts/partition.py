"""A picture of who holds what: sites × classes, with each site's rows above."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl.data import Federation
from secure_sapefl.report.charts.heat_map import write_numbers
from secure_sapefl.storage.files import writing

MOST_TICKS = 30
MOST_NUMBERS = 300  # cells that still have room for a number


def draw_partition(federation: Federation, path: Path, *, title: str) -> None:
    """Save the picture as PNG."""
    counts = federation.class_counts().T  # classes down, sites across
    classes, clients = counts.shape
    figure = Figure(figsize=(min(16, 4 + 0.3 * clients), min(14, 3.2 + 0.28 * classes)), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1, max(1.6, min(5, classes / 5))])
    _bars(above, federation)
    figure.suptitle(f"{title}\n{federation.source}", fontsize=10)
    image = below.imshow(np.where(counts == 0, np.nan, counts), aspect="auto", cmap="YlGnBu", vmin=0)
    figure.colorbar(image, ax=below, label="rows", pad=0.01)
    _name_axes(below, [client.name for client in federation.clients], list(federation.kinds_of_rows))
    if counts.size <= MOST_NUMBERS:
        write_numbers(below, np.where(counts == 0, "", counts.astype(str)), counts > 0.55 * counts.max())
    with writing(path, "Choose another --out."):
        figure.savefig(path, dpi=120, format="png")


def _bars(axes: Axes, federation: Federation) -> None:
    train = [len(client.train) for client in federation.clients]
    test = [len(client.test) for client in federation.clients]
    places = range(len(train))
    axes.bar(places, train, color="#3b6ea5", label="train")
    axes.bar(places, test, bottom=train, color="#e08a3c", label="test")
    axes.set_ylabel("rows")
    axes.legend(fontsize=8, ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="x", bottom=False, labelbottom=False)


def _name_axes(axes: Axes, clients: list[str], classes: list[str]) -> None:
    axes.set_facecolor("white")  # what a site does not hold
    across, down = _every(len(clients)), _every(len(classes))
    axes.set_xticks(across, [clients[i] for i in across], rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(down, [classes[i] for i in down], fontsize=8)


def _every(count: int) -> list[int]:
    return list(range(0, count, -(-count // MOST_TICKS)))
