"""The charts of one run, in the order of the page."""

from secure_sapefl.report import cost_charts, heat_map, round_charts
from secure_sapefl.report.drawing import Chart
from secure_sapefl.report.run import Run

_CHARTS = (
    round_charts.accuracy,
    round_charts.auc,
    heat_map.similarity,
    round_charts.scores,
    round_charts.peers,
    cost_charts.seconds,
    cost_charts.traffic,
)


def charts_of(run: Run) -> tuple[Chart, ...]:
    """Those that have something to show for this run."""
    return tuple(chart for make in _CHARTS if (chart := make(run)) is not None)
