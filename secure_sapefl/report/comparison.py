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
from secure_sapefl.report.charts.rounds import axes_over_rounds, line, numbers, whole_percent
from secure_sapefl.report.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    run: Run
    accuracy: SiteMean
    auc: SiteMean
    difference: SiteMean | None  # accuracy against the first run; None for the first and where rows differ
    gained: int = 0
    lost: int = 0


def compare(runs: Sequence[Run]) -> tuple[ComparedRun, ...]:
    return tuple(_compared(run, runs[0]) for run in runs)


def _compared(run: Run, first: Run) -> ComparedRun:
    own, reference = run.last.personal.accuracy.per_client, first.last.personal.accuracy.per_client
    alone = ComparedRun(
        run=run, accuracy=bootstrap_mean(own), auc=bootstrap_mean(run.last.personal.auc.per_client), difference=None
    )
    if run is first or not same_rows(run, first):
        return alone
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
    best = max(compared, key=lambda c: c.accuracy.mean or 0)
    ending = f"{best.run.label} ends highest with {formats.percent(best.accuracy.mean)}."
    return (
        Chart(
            name="runs-accuracy",
            title="Mean accuracy over rounds",
            caption="Every site's own model on its own test rows, mean over sites.",
            alt=f"Line chart of mean accuracy over rounds for {len(compared)} runs; {ending}",
            draw=lambda figure: _draw_rounds(figure, [c.run for c in compared]),
        ),
        Chart(
            name="runs-final",
            title="Final accuracy",
            caption="Mean over sites with its 95 % interval. Overlap of intervals does not mean equality: "
            "the paired difference in the table says more.",
            alt=f"Final mean accuracy with intervals for {len(compared)} runs; {ending}",
            draw=lambda figure: _draw_intervals(figure, compared),
            height=max(1.6, 0.9 + 0.35 * len(compared)),
        ),
    )


def _draw_rounds(figure: Figure, runs: Sequence[Run]) -> None:
    axes = axes_over_rounds(figure, max(len(run.rounds) for run in runs))
    for series, run in enumerate(runs):
        means = [record.personal.accuracy.mean for record in run.evaluated]
        line(axes, numbers(run.evaluated), means, formats.shorten(run.label, 24), series)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: whole_percent(value)))
    figure.legend(loc="outside lower center", ncols=2)


def _draw_intervals(figure: Figure, compared: Sequence[ComparedRun]) -> None:
    axes: Axes = figure.subplots()
    for place, one in enumerate(compared):
        mean, series = one.accuracy.mean or 0.0, place % len(SERIES)
        low, high = one.accuracy.low or mean, one.accuracy.high or mean
        whiskers = [[mean - low], [high - mean]]
        axes.errorbar(mean, place, xerr=whiskers, marker=MARKERS[series], color=SERIES[series], capsize=4, lw=2)
    axes.set_yticks(range(len(compared)), [formats.shorten(c.run.label, 24) for c in compared])
    axes.set_ylim(len(compared) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: whole_percent(value)))
