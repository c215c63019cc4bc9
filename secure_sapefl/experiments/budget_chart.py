"""Accuracy and AUC against ε: a line a method, shaded by seed; ∞ stands apart, beyond the end of the scale."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl.experiments.budget import OFF, Curves, name_of
from secure_sapefl.experiments.statistics import Floats
from secure_sapefl.experiments.tables import is_share, with_unit
from secure_sapefl.report.charts.drawing import DASHES, INK, MARKERS, SERIES, Chart

_GAP = 1.5  # between the largest budget and ∞, in doublings
_DODGE = 0.14


def chart(curves: Curves) -> Chart:
    request = curves.request

    def draw(figure: Figure) -> None:
        for which, axes in enumerate(figure.subplots(1, 2)):
            _panel(axes, curves, which)
            axes.set_ylabel(with_unit(curves.shown[which]))
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))

    main, second, _ = curves.shown
    ends = (
        f"{c.label} {main.tick(curves.estimates(c, request.epsilons[0])[0].mean)} to "
        f"{main.tick(curves.estimates(c, request.epsilons[-1])[0].mean)}"
        for c in request.contenders
    )
    return Chart(
        name="budget",
        title=f"What privacy costs, {request.task.label}",
        caption=f"Mean over sites and seeds; shaded, bars at ∞: deviation over seeds. δ = {request.delta:g}.",
        alt=f"{main.heading} and {second.title} from ε {name_of(request.epsilons[0])} to "
        f"{name_of(request.epsilons[-1])}: {main.title} of {', '.join(ends)}.",
        draw=draw,
        width=8.6,
        height=4.0,
    )


def _panel(axes: Axes, curves: Curves, which: int) -> None:
    epsilons, contenders = curves.request.epsilons, curves.request.contenders
    places, finite = places_of(epsilons), np.array([epsilon != OFF for epsilon in epsilons])
    for i, contender in enumerate(contenders):
        estimates = [curves.estimates(contender, epsilon)[which] for epsilon in epsilons]
        unit = 100 if is_share(curves.shown[which]) else 1
        mean = np.array([unit * estimate.mean for estimate in estimates])
        spread = np.array([unit * (estimate.std or 0) for estimate in estimates])
        _curve(axes, contender.label, places[finite], mean[finite], spread[finite], i)
        beside = places[~finite] + (i - (len(contenders) - 1) / 2) * _DODGE
        axes.errorbar(beside, mean[~finite], yerr=spread[~finite], ms=4.5, lw=1.1, capsize=2, ls="none", **_style(i))  # type: ignore[arg-type]
    for place in places[~finite]:
        axes.axvline(place - _GAP / 2, color=INK, lw=0.6, ls=(0, (2, 3)))
    axes.set_xticks(places, [name_of(epsilon) for epsilon in epsilons])
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("ε (logarithmic)" if finite.all() else "ε (logarithmic; ∞: no privacy)")


def places_of(epsilons: Sequence[float]) -> Floats:
    """Powers of two in equal steps; ∞ a step and a half beyond the last."""
    finite = np.log2([epsilon for epsilon in epsilons if epsilon != OFF] or [1.0])
    return np.array([finite[-1] + _GAP if epsilon == OFF else np.log2(epsilon) for epsilon in epsilons])


def _curve(axes: Axes, label: str, places: Floats, mean: Floats, spread: Floats, i: int) -> None:
    style = _style(i)
    axes.plot(places, mean, label=label, lw=1.7, ms=4.5, ls=DASHES[i % len(DASHES)], zorder=3, **style)  # type: ignore[arg-type]
    axes.fill_between(places, mean - spread, mean + spread, color=style["color"], alpha=0.1, lw=0)
    for edge in (mean - spread, mean + spread):
        axes.plot(places, edge, color=style["color"], alpha=0.45, lw=0.6)


def _style(i: int) -> dict[str, str]:
    return {"marker": MARKERS[i % len(MARKERS)], "color": SERIES[i % len(SERIES)]}
