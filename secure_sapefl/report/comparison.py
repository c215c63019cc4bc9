"""Several runs side by side; differences are paired by site where the sites hold the same rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from secure_sapefl.intervals import SiteMean, bootstrap_difference, bootstrap_mean
from secure_sapefl.report import formats
from secure_sapefl.report.charts.drawing import MARKERS, SERIES, Chart
from secure_sapefl.report.charts.rounds import axes_over_rounds, line, numbers
from secure_sapefl.report.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    run: Run
    main: SiteMean
    second: SiteMean
    difference: SiteMean | None  # gain over the first run; None for the first and where rows or tasks differ
    gained: int = 0
    lost: int = 0


def compare(runs: Sequence[Run]) -> tuple[ComparedRun, ...]:
    return tuple(_compared(run, runs[0]) for run in runs)


def _compared(run: Run, first: Run) -> ComparedRun:
    values, second = (
        run.main.own(run.last).per_client,
        () if run.second is None else run.second.own(run.last).per_client,
    )
    alone = ComparedRun(run=run, main=bootstrap_mean(values), second=bootstrap_mean(second), difference=None)
    if run is first or not same_rows(run, first) or run.main != first.main:
        return alone
    own, reference = (run.main.oriented(one) for one in (values, first.main.own(first.last).per_client))
    return replace(
        alone,
        difference=bootstrap_difference(own, reference),
        gained=sum(a > b for a, b in zip(own, reference, strict=True)),
        lost=sum(a < b for a, b in zip(own, reference, strict=True)),
    )


def same_rows(run: Run, other: Run) -> bool:
    """The same rows at the same sites, split alike: then two runs can be compared site by site."""
    return _division(run) == _division(other)


def _division(run: Run) -> tuple[object, ...]:
    config, summary = run.config, run.summary
    return (
        *(summary[key] for key in ("dataset", "source", "partition", "seed", "client_names")),
        *(config.kappa, config.data_options, config.label, config.group),
    )


def with_distinct_labels(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Folders of the same name are told apart by their place in the list."""
    often = Counter(run.label for run in runs)
    return tuple(
        replace(run, label=f"{run.label} ({place})") if often[run.label] > 1 else run
        for place, run in enumerate(runs, 1)
    )


def comparison_charts(compared: Sequence[ComparedRun]) -> tuple[Chart, ...]:
    main = compared[0].run.main
    alike = [one for one in compared if one.run.main == main]  # others cannot be drawn on one axis
    best = max(alike, key=lambda c: main.oriented((c.main.mean or 0.0,)))
    highest = "highest" if main.higher_is_better else "lowest, which is best,"
    ending = f"{best.run.label} ends {highest} with {main.form(best.main.mean)}."
    return (
        Chart(
            name="runs-accuracy",
            title=f"Mean {main.title} over rounds",
            caption="Every site's own model on its own test rows, mean over sites.",
            alt=f"Line chart of mean {main.title} over rounds for {len(alike)} runs; {ending}",
            draw=lambda figure: _draw_rounds(figure, [c.run for c in alike]),
        ),
        Chart(
            name="runs-final",
            title=f"Final {main.title}",
            caption="Mean over sites with its 95 % interval. Overlap of intervals does not mean equality: "
            "the paired difference in the table says more.",
            alt=f"Final mean {main.title} with intervals for {len(alike)} runs; {ending}",
            draw=lambda figure: _draw_intervals(figure, alike),
            height=max(1.6, 0.9 + 0.35 * len(alike)),
        ),
    )


def _draw_rounds(figure: Figure, runs: Sequence[Run]) -> None:
    axes = axes_over_rounds(figure, max(len(run.rounds) for run in runs))
    for series, run in enumerate(runs):
        means = [run.main.own(record).mean for record in run.evaluated]
        line(axes, numbers(run.evaluated), means, formats.shorten(run.label, 24), series)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: runs[0].main.tick(value)))
    figure.legend(loc="outside lower center", ncols=2)


def _draw_intervals(figure: Figure, compared: Sequence[ComparedRun]) -> None:
    axes: Axes = figure.subplots()
    for place, one in enumerate(compared):
        mean, series = one.main.mean or 0.0, place % len(SERIES)
        low, high = one.main.low or mean, one.main.high or mean
        whiskers = [[mean - low], [high - mean]]
        axes.errorbar(mean, place, xerr=whiskers, marker=MARKERS[series], color=SERIES[series], capsize=4, lw=2)
    axes.set_yticks(range(len(compared)), [formats.shorten(c.run.label, 24) for c in compared])
    axes.set_ylim(len(compared) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: compared[0].run.main.tick(value)))
