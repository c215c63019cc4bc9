"""Accuracy and AUC against ε: a line a method, shaded by seed."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl.experiments.budget import Curves, name_of
from secure_sapefl.report.drawing import DASHES, MARKERS, SERIES, Chart

_PANELS = ("accuracy, %", "AUC, %")


def chart(curves: Curves) -> Chart:
    request = curves.request

    def draw(figure: Figure) -> None:
        for which, (axes, label) in enumerate(zip(figure.subplots(1, 2), _PANELS, strict=True)):
            _panel(axes, curves, which)
            axes.set_ylabel(label)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))

    ends = (
        f"{c.label} {100 * curves.estimates(c, request.epsilons[0])[0].mean:.0f} % to "
        f"{100 * curves.estimates(c, request.epsilons[-1])[0].mean:.0f} %"
        for c in request.contenders
    )
    return Chart(
        name="budget",
        title=f"What privacy costs, {request.task.label}",
        caption=f"Mean over clients and seeds; shaded: standard deviation over seeds. δ = {request.delta:g}.",
        alt=f"Accuracy and AUC from ε {name_of(request.epsilons[0])} to {name_of(request.epsilons[-1])}: "
        f"accuracy of {', '.join(ends)}.",
        draw=draw,
        width=7.4,
        height=3.4,
    )


def _panel(axes: Axes, curves: Curves, which: int) -> None:
    """Budgets stand side by side in equal steps: ∞ has no place on a scale."""
    epsilons = curves.request.epsilons
    places = np.arange(len(epsilons))
    for i, contender in enumerate(curves.request.contenders):
        estimates = [curves.estimates(contender, epsilon)[which] for epsilon in epsilons]
        mean = np.array([100 * estimate.mean for estimate in estimates])
        spread = np.array([100 * (estimate.std or 0) for estimate in estimates])
        colour = SERIES[i % len(SERIES)]
        style = {"marker": MARKERS[i % len(MARKERS)], "ls": DASHES[i % len(DASHES)], "color": colour}
        axes.plot(places, mean, label=contender.label, lw=1.5, ms=4.5, **style)  # type: ignore[arg-type]
        axes.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    axes.set_xticks(places, [name_of(epsilon) for epsilon in epsilons])
    axes.set_xlabel("ε")
