"""What privacy costs: a column a method, a row a metric (accuracy above, AUC below), against ε.

Each panel holds what one asks about a method: its curve under either kind of noise, the method without privacy above
it, and Local-only, which needs none, as the line to beat.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from secure_sapefl.experiments.budget.curves import Curves
from secure_sapefl.experiments.budget.request import OFF, name_of, releases_nothing
from secure_sapefl.experiments.setting import Contender
from secure_sapefl.experiments.tables import is_share, with_unit
from secure_sapefl.metrics import Floats
from secure_sapefl.report.charts.drawing import DASHES, INK, MARKERS, SERIES, Chart

_OWN_NOISE, _SHARED_NOISE = "each site's own noise", "shared noise"
_PLACE = {_SHARED_NOISE: 0, _OWN_NOISE: 1}  # among colours and marks


def chart(curves: Curves) -> Chart:
    request, columns = curves.request, columns_of(curves.request.contenders)

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(curves.shown), len(columns), squeeze=False, sharex=True, sharey="row")
        for which, row in enumerate(rows):
            for axes, (title, contenders) in zip(row, columns.items(), strict=True):
                _panel(axes, curves, contenders, which)
                axes.set_title("" if which else title)
            row[0].set_ylabel(with_unit(curves.shown[which]))
        for axes in figure.axes[-len(columns) :]:
            axes.set_xlabel("ε (logarithmic)")
        named = dict(pair[::-1] for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True))
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named))

    main = curves.shown[0]
    ends = (
        f"{c.label} {main.tick(curves.estimates(c, request.epsilons[0])[0].mean)} to "
        f"{main.tick(curves.estimates(c, request.epsilons[-1])[0].mean)}"
        for c in request.contenders
    )
    return Chart(
        name="budget",
        title=f"What privacy costs, {request.task.label}",
        caption=f"Mean over sites and seeds; shaded: deviation over seeds. δ = {request.delta:g}.",
        alt=f"{curves.headed} from ε {name_of(request.epsilons[0])} to "
        f"{name_of(request.epsilons[-1])}: {main.title} of {', '.join(ends)}.",
        draw=draw,
        width=max(5.2, 2.7 * len(columns)),
        height=0.6 + 2.2 * len(curves.shown),
    )


def columns_of(contenders: Sequence[Contender]) -> dict[str, tuple[Contender, ...]]:
    """Each method with whatever noise it was run with, beside those who need none."""
    silent = tuple(one for one in contenders if releases_nothing(one))
    noised = [one for one in contenders if not releases_nothing(one)]
    names = dict.fromkeys(_method(one) for one in noised)
    own = {name: tuple(one for one in noised if _method(one) == name) for name in names}
    return {name: (*those, *silent) for name, those in own.items()} or {one.label: (one,) for one in silent}


def _method(contender: Contender) -> str:
    return contender.label.removesuffix(", shared noise")


def _panel(axes: Axes, curves: Curves, contenders: Sequence[Contender], which: int) -> None:
    finite = curves.request.finite
    places = np.log2(finite or (1.0,))
    for contender in contenders:
        unbounded = _heights(curves, contender, (OFF,), which)[0] if OFF in curves.request.epsilons else None
        if releases_nothing(contender):
            level = _heights(curves, contender, curves.request.epsilons[:1], which)[0]
            axes.axhline(level[0], color=INK, lw=1.3, ls=DASHES[1], label=f"{contender.label}, releases nothing")
            continue
        if finite:
            _curve(axes, contender, places, *_heights(curves, contender, finite, which))
        if unbounded is not None:
            axes.axhline(unbounded[0], color=INK, lw=1.0, ls=DASHES[2], label="without privacy")
    axes.set_xticks(places, [name_of(epsilon) for epsilon in finite] or [""])
    axes.grid(axis="x", visible=False)


def _heights(curves: Curves, contender: Contender, epsilons: Sequence[float], which: int) -> tuple[Floats, Floats]:
    """Means and deviations over seeds, in percent where the metric is a share."""
    unit = 100 if is_share(curves.shown[which]) else 1
    estimates = [curves.estimates(contender, epsilon)[which] for epsilon in epsilons]
    means = np.array([unit * estimate.mean for estimate in estimates])
    return means, np.array([unit * (estimate.std or 0) for estimate in estimates])


def _curve(axes: Axes, contender: Contender, places: Floats, mean: Floats, spread: Floats) -> None:
    noise = _OWN_NOISE if contender.shared_steps is None else _SHARED_NOISE
    place = _PLACE[noise]
    axes.plot(places, mean, label=noise, lw=1.8, ms=4.5, marker=MARKERS[place], color=SERIES[place], zorder=3)
    axes.fill_between(places, mean - spread, mean + spread, color=SERIES[place], alpha=0.12, lw=0)
