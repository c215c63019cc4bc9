"""The dot plots of a comparison."""

import numpy as np

from secure_sapefl.experiments.compare import Comparison
from secure_sapefl.experiments.plots import dot_plot
from secure_sapefl.experiments.setting import Contender, Task
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.report.charts.drawing import Chart


def charts(comparison: Comparison) -> list[Chart]:
    several = comparison.request.setting.seeds > 1
    bars = "standard deviation over seeds" if several else "standard error over sites (one seed)"
    return [
        dot_plot(f"comparison-{shown.name}", f"Mean {shown.title} over sites", _panels(comparison, which), bars, shown)
        for which, shown in enumerate(comparison.shown(comparison.request.tasks[0]))
    ]


def _panels(comparison: Comparison, which: int) -> dict[str, dict[str, Estimate]]:
    """Of the datasets that are judged as the first is."""
    request = comparison.request
    return {
        task.label: {contender.label: _dot(comparison, task, contender, which) for contender in request.contenders}
        for task in request.tasks
        if comparison.shown(task) == comparison.shown(request.tasks[0])
    }


def _dot(comparison: Comparison, task: Task, contender: Contender, which: int) -> Estimate:
    per_seed = comparison.numbers(task, contender, which)
    estimate = Estimate.over_seeds(per_seed)
    if estimate.std is not None:
        return estimate
    values = np.asarray(per_seed[0])
    values = values[~np.isnan(values)]
    return Estimate(estimate.mean, float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None)
