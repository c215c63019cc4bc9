"""Charts of the experiments, in the style of the run reports."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from secure_sapefl.experiments.output import writing_into
from secure_sapefl.experiments.statistics import Estimate
from secure_sapefl.experiments.tables import is_share, with_unit
from secure_sapefl.metrics import Floats
from secure_sapefl.report.charts.drawing import DASHES, INK, MARKERS, SERIES, Chart, save_png
from secure_sapefl.report.shown import ACCURACY, Shown

_COLUMNS = 4


def draw(charts: Sequence[Chart], folder: Path) -> list[Path]:
    paths = [folder / f"{chart.name}.png" for chart in charts]
    with writing_into(folder):
        for chart, path in zip(charts, paths, strict=True):
            save_png(chart, path)
    return paths


def dot_plot(
    name: str, title: str, panels: Mapping[str, Mapping[str, Estimate]], bars: str, shown: Shown = ACCURACY
) -> Chart:
    """One panel a dataset, one line a method: the mean with its error bar; the best is filled."""
    rows, columns = _layout(len(panels))
    methods = len(next(iter(panels.values())))

    def draw_on(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, (panel, estimates) in zip(grid.flat, panels.items(), strict=False):
            _dots(axes, panel, estimates, shown)
        _hide_rest(grid.flat, len(panels))
        unit = "%" if is_share(shown) else with_unit(shown)
        figure.supxlabel(f"{unit}; bars: {bars}", fontsize=9)

    best = "; ".join(f"{panel}: {_best(dots, shown)}" for panel, dots in panels.items())
    return Chart(
        name=name,
        title=title,
        caption=f"Mean over sites and seeds; bars: {bars}.",
        alt=f"Dot plot of {len(panels)} datasets. Best method: {best}.",
        draw=draw_on,
        width=1.9 + 2.3 * columns,
        height=rows * (0.9 + 0.22 * methods) + 0.3,
    )


def _best(estimates: Mapping[str, Estimate], shown: Shown) -> str:
    return max(estimates, key=lambda one: np.nan_to_num(shown.oriented((estimates[one].mean,))[0], nan=-np.inf))


def _dots(axes: Axes, panel: str, estimates: Mapping[str, Estimate], shown: Shown) -> None:
    best, unit = _best(estimates, shown), 100 if is_share(shown) else 1
    for place, (method, estimate) in enumerate(estimates.items()):
        colour = SERIES[1] if method == best else SERIES[0]
        face = colour if method == best else "white"
        error = None if estimate.std is None else unit * estimate.std
        axes.errorbar(
            unit * estimate.mean, place, xerr=error, fmt="o", ms=5, color=colour, mfc=face, capsize=2.5, lw=1.3
        )
    axes.set_title(panel)
    axes.set_yticks(range(len(estimates)), list(estimates))
    axes.set_ylim(len(estimates) - 0.5, -0.5)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(5))


def value_lines(
    name: str, title: str, axis: str, panels: Mapping[str, Mapping[str, Mapping[float, Estimate]]]
) -> Chart:
    """One panel a dataset; a line over the varied value for each series, the first of them ours."""
    rows, columns = _layout(len(panels))

    def draw_on(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, (panel, lines) in zip(grid.flat, panels.items(), strict=False):
            for place, (label, points) in enumerate(lines.items()):
                _line(axes, label, points, place)
            axes.set_title(panel)
            axes.set_xlabel(axis)
        _hide_rest(grid.flat, len(panels))
        grid[0, 0].set_ylabel("accuracy, %")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))

    return Chart(
        name=name,
        title=title,
        caption="Mean over sites and seeds; bars: standard deviation over seeds.",
        alt=f"{title}: one panel for each of {', '.join(panels)}.",
        draw=draw_on,
        width=0.6 + 2.8 * columns,
        height=2.7 * rows + 0.4,
    )


def _line(axes: Axes, label: str, points: Mapping[float, Estimate], place: int) -> None:
    means = [100 * estimate.mean for estimate in points.values()]
    errors = [100 * (estimate.std or 0) for estimate in points.values()]
    style = {"marker": MARKERS[place], "ls": DASHES[place], "color": SERIES[place]}
    axes.errorbar(list(points), means, yerr=errors, label=label, capsize=2.5, lw=1.5, ms=4.5, **style)  # type: ignore[arg-type]


def trajectories(name: str, title: str, sites: Mapping[str, Floats]) -> Chart:
    """Accuracy of some sites over rounds, [seed, round] each: the mean over seeds and one standard deviation."""

    def draw_on(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (site, values) in enumerate(sites.items()):
            _band(axes, site, 100 * values, place)
        axes.set_xlabel("round")
        axes.set_ylabel("accuracy, %")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside lower center", ncols=min(5, len(sites)))

    ends = ", ".join(f"{site} {100 * values[:, -1].mean():.0f} %" for site, values in sites.items())
    return Chart(
        name=name,
        title=title,
        caption="Mean over seeds; shaded: one standard deviation.",
        alt=f"Accuracy over rounds of {len(sites)} sites, ending at {ends}.",
        draw=draw_on,
        width=6.6,
        height=3.8,
    )


def _band(axes: Axes, site: str, values: Floats, place: int) -> None:
    rounds, mean, std = np.arange(1, values.shape[1] + 1), values.mean(0), values.std(0)
    colour = SERIES[place % len(SERIES)]
    axes.plot(rounds, mean, color=colour, ls=DASHES[place % len(DASHES)], lw=1.6, label=site)
    low, high = np.clip((mean - std, mean + std), 0, 100)
    axes.fill_between(rounds, low, high, color=colour, alpha=0.15, lw=0)


def gain_bars(name: str, title: str, places: Sequence[str], gains: Mapping[str, Sequence[Estimate]]) -> Chart:
    """Groups of bars: what each method adds at the weakest site, the next one, and so on."""
    width = 0.8 / len(gains)

    def draw_on(figure: Figure) -> None:
        axes = figure.subplots()
        for series, (method, row) in enumerate(gains.items()):
            at = np.arange(len(row)) + (series - (len(gains) - 1) / 2) * width
            heights = [100 * gain.mean for gain in row]
            errors = [100 * gain.std for gain in row if gain.std is not None] or None
            whiskers = {"ecolor": INK, "capsize": 2.5, "elinewidth": 1}
            axes.bar(at, heights, width * 0.92, yerr=errors, color=SERIES[series], label=method, error_kw=whiskers)
        axes.axhline(0, color=INK, lw=0.8)
        axes.set_xticks(range(len(places)), places)
        axes.set_xlabel("sites, the weakest first")
        axes.grid(axis="x", visible=False)
        axes.set_ylabel("gain over Local-only, points")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
        figure.legend(loc="outside lower center", ncols=len(gains))

    means = ", ".join(f"{method} {100 * np.mean([g.mean for g in row]):+.1f}" for method, row in gains.items())
    return Chart(
        name=name,
        title=title,
        caption="Bars: mean over seeds, with the standard deviation over seeds.",
        alt=f"Bar chart of accuracy gains in points at the weakest sites; on average {means}.",
        draw=draw_on,
        width=6.2,
        height=3.6,
    )


def _layout(panels: int) -> tuple[int, int]:
    columns = min(panels, _COLUMNS)
    return ceil(panels / columns), columns


def _hide_rest(axes: Iterable[Axes], used: int) -> None:
    for unused in list(axes)[used:]:
        unused.set_visible(False)
