"""The charts of one run, in the order of the page."""

from secure_sapefl.report.charts import costs, heat_map, rounds
from secure_sapefl.report.charts.drawing import Chart
from secure_sapefl.report.run import Run

_CHARTS = (
    rounds.main_metric,
    rounds.second_metric,
    heat_map.similarity,
    rounds.scores,
    rounds.peers,
    costs.seconds,
    costs.traffic,
)


def charts_of(run: Run) -> tuple[Chart, ...]:
    """Those that have something to show for this run."""
    return tuple(chart for make in _CHARTS if (chart := make(run)) is not None)
