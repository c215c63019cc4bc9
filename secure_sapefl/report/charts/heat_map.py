"""Who resembled whom in the last round."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from secure_sapefl.metrics import Floats
from secure_sapefl.report import formats
from secure_sapefl.report.charts.drawing import Chart
from secure_sapefl.report.run import Run

_MOST_NAMES = 24
_MOST_NUMBERS = 10  # sites whose cells have room for a number


def similarity(run: Run) -> Chart | None:
    matrix = run.similarity
    if matrix is None:
        return None
    compared = matrix[~np.isnan(matrix)]
    return Chart(
        name="similarity",
        title="Similarity in the last round",
        caption="How similar each site (row) found each peer's model (column). Hatched: not compared in that round.",
        alt=f"Heat map of {compared.size} similarities between {len(matrix)} sites: lowest {compared.min():.2f}, "
        f"mean {compared.mean():.2f}, highest {compared.max():.2f}.",
        draw=lambda figure: _draw(figure, matrix, run.sites),
        height=4.6,
    )


def _draw(figure: Figure, matrix: Floats, names: Sequence[str]) -> None:
    axes: Axes = figure.subplots()
    axes.grid(visible=False)
    side = len(matrix)
    axes.add_patch(Rectangle((-0.5, -0.5), side, side, fill=False, hatch="/////", linewidth=0, zorder=-1))
    image = axes.imshow(matrix, cmap="viridis", interpolation="none")
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    _name_axes(axes, names)
    if side <= _MOST_NUMBERS:
        dark = image.to_rgba(matrix)[..., :3] @ (0.299, 0.587, 0.114) < 0.5
        write_numbers(axes, np.where(np.isnan(matrix), "", np.char.mod("%.2f", matrix)), dark)


def _name_axes(axes: Axes, names: Sequence[str]) -> None:
    shown = list(range(0, len(names), -(-len(names) // _MOST_NAMES)))
    labels = [formats.shorten(names[i]) for i in shown]
    axes.set_xticks(shown, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
    axes.set_yticks(shown, labels, fontsize=7)
    axes.set_xlabel("peer")
    axes.set_ylabel("site")


def write_numbers(axes: Axes, texts: NDArray[np.str_], dark: NDArray[np.bool_]) -> None:
    """One in the middle of each cell, readable on ``dark`` ones too."""
    for (row, column), text in np.ndenumerate(texts):
        colour = "white" if dark[row, column] else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
