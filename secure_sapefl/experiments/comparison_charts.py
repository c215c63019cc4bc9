"""The dot plots of a comparison."""

import numpy as np

from secure_sapefl.experiments.compare import Comparison
from secure_sapefl.experiments.comparison_document import METRICS, TITLES
from secure_sapefl.experiments.paper import Metric
from secure_sapefl.experiments.plots import dot_plot
from secure_sapefl.experiments.setting import Contender, Task
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.report.charts.drawing import Chart


def charts(comparison: Comparison) -> list[Chart]:
    several = comparison.request.setting.seeds > 1
    bars = "standard deviation over seeds" if several else "standard error over sites (one seed)"
    return [
        dot_plot(f"comparison-{metric}", f"Mean {TITLES[metric]} over sites", _panels(comparison, metric), bars)
        for metric in METRICS
    ]


def _panels(comparison: Comparison, metric: Metric) -> dict[str, dict[str, Estimate]]:
    request = comparison.request
    return {
        task.label: {contender.label: _dot(comparison, task, contender, metric) for contender in request.contenders}
        for task in request.tasks
    }


def _dot(comparison: Comparison, task: Task, contender: Contender, metric: Metric) -> Estimate:
    per_seed = [getattr(result, metric) for result in comparison.results[task.label, contender.label]]
    estimate = Estimate.over_seeds(per_seed)
    if estimate.std is not None:
        return estimate
    values = np.asarray(per_seed[0])
    values = values[~np.isnan(values)]
    return Estimate(estimate.mean, float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None)
