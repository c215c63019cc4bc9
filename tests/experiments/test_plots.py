"""Charts come out as pictures whatever the numbers are, and say in words what they show."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from secure_sapefl.experiments.plots import dot_plot, draw, gain_bars, trajectories, value_lines
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.report.charts.drawing import Chart

DOTS = {"fedavg": Estimate(0.5, 0.02), "sapefl": Estimate(0.6, None), "silent": Estimate(float("nan"), None)}

CHARTS = {
    "one panel": dot_plot("dots", "Accuracy", {"synthetic": DOTS}, "standard deviation"),
    "five panels": dot_plot("dots", "Accuracy", {f"task {i}": DOTS for i in range(5)}, "standard deviation"),
    "lines": value_lines(
        "lines", "Kappa", "κ", {"har": {"ours": {0.2: Estimate(0.5, None), 1.0: Estimate(0.6, 0.01)}, "paper": {}}}
    ),
    "trajectories": trajectories("t", "T", {"a": np.array([[0.1, 0.2], [0.3, 0.9]]), "$x$": np.zeros((2, 2))}),
    "bars": gain_bars("b", "B", ["c1"], {"fedavg": [Estimate(0.1, None)], "sapefl": [Estimate(-0.1, None)]}),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_a_picture_with_something_on_it(chart: Chart, tmp_path: Path) -> None:
    (path,) = draw([chart], tmp_path / "new")
    assert path.name == f"{chart.name}.png"
    assert len(np.unique(imread(path)[..., :3].reshape(-1, 3), axis=0)) > 10


def test_words_for_those_who_cannot_see_it() -> None:
    assert CHARTS["one panel"].alt == "Dot plot of 1 datasets. Best method: synthetic: sapefl."
    assert "on average fedavg +10.0, sapefl -10.0" in CHARTS["bars"].alt
