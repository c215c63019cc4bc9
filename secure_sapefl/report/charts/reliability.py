"""Do probabilities mean what they say? The reliability of a model's answers (Murphy and Winkler 1977), in bins.

Bins hold equally many rows, so that none is judged by a handful. The calibration error is the mean distance between
what was said and what happened, weighed by rows (Naeini, Cooper and Hauskrecht 2015).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.metrics import Floats
from secure_sapefl.report.charts.drawing import DASHES, INK, MARKERS, SERIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Of each bin: the mean probability that was said, the share that happened, and the rows."""

    said: Floats
    happened: Floats
    rows: NDArray[np.int64]

    @property
    def error(self) -> float:
        return float(np.average(np.abs(self.said - self.happened), weights=self.rows))


def reliability(probability: Floats, happened: NDArray[np.bool_], bins: int = 8) -> Reliability:
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return Reliability(
        said=np.array([probability[part].mean() for part in parts]),
        happened=np.array([happened[part].mean() for part in parts]),
        rows=np.array([len(part) for part in parts]),
    )


def draw_reliability(axes: Any, curves: Mapping[str, Reliability]) -> None:
    """Said across, happened up; whoever is right lies on the diagonal."""
    axes.plot((0, 1), (0, 1), color=INK, linewidth=0.8, linestyle=":")
    for i, (label, curve) in enumerate(curves.items()):
        axes.plot(
            curve.said,
            curve.happened,
            color=SERIES[i % len(SERIES)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle=DASHES[i % len(DASHES)],
            markersize=4,
            label=label,
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="probability said", ylabel="share that happened")
