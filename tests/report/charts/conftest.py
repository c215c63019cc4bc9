"""A chart of a run as it is drawn, by its name."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl.report.charts.run import charts_of


@pytest.fixture
def drawn():
    def draw(run, name) -> Axes:
        figure = Figure()
        next(chart for chart in charts_of(run) if chart.name == name).draw(figure)
        return figure.axes[0]

    return draw
