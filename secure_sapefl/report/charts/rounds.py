"""What changes from round to round: accuracy and AUC, or a task's own metrics; scores, peers."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.metrics import Floats, Spread
from secure_sapefl.report.charts.drawing import DASHES, FAINT, INK, MARKERS, SERIES, Chart
from secure_sapefl.report.run import Run
from secure_sapefl.report.shown import Shown

_MOST_POINTS = 20_000  # beyond this, the lines of single sites are drawn as pixels to keep the page small
_MOST_MARKERS = 30
_CAPTIONS = {
    "auc": "Macro one-vs-rest AUC of every site's own model; a site whose test rows are of one class has none.",
    "r2": "R² of every site's own model against the mean of its test rows: 1 is perfect, below 0 the mean is better.",
}


def main_metric(run: Run) -> Chart:
    shown = run.main
    everywhere = [shown.everywhere(record) for record in run.evaluated] if run.personal_differs else []
    dashed = " Dashed: the global model, mean over sites." if everywhere else ""
    lower = "" if shown.higher_is_better else " Lower is better."
    caption = f"Every site's own model on its own test rows: the mean, and each site as a thin line.{dashed}{lower}"
    return _over_rounds(run, shown, everywhere, caption, shown.tick)


def second_metric(run: Run) -> Chart | None:
    shown = run.second
    if shown is None or not any(len(shown.own(record).defined) for record in run.evaluated):
        return None
    caption = _CAPTIONS.get(shown.name, f"{shown.heading} of every site's own model{shown.direction}.")
    return _over_rounds(run, shown, [], caption, "{:.2f}".format)


def _over_rounds(
    run: Run, shown: Shown, everywhere: Sequence[Spread], caption: str, form: Callable[[float], str]
) -> Chart:
    own = [shown.own(record) for record in run.evaluated]
    return Chart(
        name=shown.name,
        title=f"{shown.heading} over rounds",
        caption=caption,
        alt=f"Line chart of mean {shown.title} over {_count(run)}, ending at {shown.form(own[-1].mean)}.",
        draw=lambda figure: _draw_spreads(figure, run, own, everywhere, form),
    )


def scores(run: Run) -> Chart | None:
    low, mean, high = _logged(run, "score_min"), _logged(run, "score_mean"), _logged(run, "score_max")
    if np.isnan(mean).all():
        return None

    def draw(figure: Figure) -> None:
        axes = axes_over_rounds(figure, len(mean))
        bars = axes.errorbar(
            numbers(run.rounds), mean, (mean - low, high - mean), fmt="none", color=SERIES[0], capsize=3
        )
        bars.set_label("lowest to highest")
        line(axes, numbers(run.rounds), mean, "mean", 0)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("score of a site")
        figure.legend(loc="outside lower center", ncols=2)

    return Chart(
        name="scores",
        title="Scores per round",
        caption="The score a site sends weighs its update: mean over sites, and the range from lowest to highest.",
        alt=f"Scores per round, in the last one from {low[-1]:.2f} to {high[-1]:.2f} with mean {mean[-1]:.2f}.",
        draw=draw,
    )


def peers(run: Run) -> Chart | None:
    received, passed = _logged(run, "peers_received"), _logged(run, "peers_passed")
    if np.isnan(received).all():
        return None

    def draw(figure: Figure) -> None:
        axes = axes_over_rounds(figure, len(received))
        axes.bar(numbers(run.rounds), passed, width=0.7, color=SERIES[0], label="similar enough")
        axes.bar(numbers(run.rounds), received, width=0.7, fill=False, edgecolor=INK, lw=1, label="received")
        axes.set_ylabel("peers of a site")
        figure.legend(loc="outside lower center", ncols=2)

    return Chart(
        name="peers",
        title="Peers passing the filter",
        caption="How many peers' models a site received, and how many were similar enough to learn from, on average.",
        alt=f"Peers per round, in the last one {passed[-1]:.1f} of {received[-1]:.1f} received were similar enough.",
        draw=draw,
    )


def axes_over_rounds(figure: Figure, rounds: int) -> Axes:
    axes: Axes = figure.subplots()
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlim(0.5, rounds + 0.5)
    return axes


def numbers(records: Sequence[RoundRecord]) -> list[int]:
    """Rounds as people count them."""
    return [record.round_index + 1 for record in records]


def line(axes: Axes, rounds: Sequence[int], values: Sequence[float] | Floats, label: str, series: int) -> None:
    """A line nobody has to tell from others by its colour alone."""
    axes.plot(
        rounds,
        values,
        color=SERIES[series % len(SERIES)],
        linestyle=DASHES[series % len(DASHES)],
        marker=MARKERS[series % len(MARKERS)] if len(values) <= _MOST_MARKERS else None,
        markersize=4,
        linewidth=2.2,
        label=label,
    )


def _draw_spreads(
    figure: Figure, run: Run, own: Sequence[Spread], everywhere: Sequence[Spread], form: Callable[[float], str]
) -> None:
    axes, rounds = axes_over_rounds(figure, len(run.rounds)), numbers(run.evaluated)
    by_site = np.array([spread.per_client for spread in own]).T
    line(axes, rounds, [spread.mean for spread in own], "mean of own models", 0)
    if everywhere:
        line(axes, rounds, [spread.mean for spread in everywhere], "global model", 1)
    handles = axes.get_lines()
    if len(by_site) > 1:
        _thin_lines(axes, rounds, by_site)
        handles = [*handles, Line2D([], [], color=FAINT, linewidth=0.8, label="one site")]
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def _thin_lines(axes: Axes, rounds: Sequence[int], by_site: Floats) -> None:
    paths = [np.column_stack((rounds, values)) for values in by_site]
    lines = LineCollection(paths, colors=FAINT, linewidths=0.7, alpha=0.55, zorder=1.5)
    lines.set_rasterized(by_site.size > _MOST_POINTS)
    axes.add_collection(lines)
    if len(rounds) == 1:  # a line through one point cannot be seen
        axes.scatter(np.full(len(by_site), rounds[0]), by_site[:, 0], s=8, color=FAINT, alpha=0.55, zorder=1.5)
    axes.autoscale_view()


def _logged(run: Run, key: str) -> Floats:
    """What the rounds' similarity statistics say under ``key``, NaN where a round has none."""
    return np.array([record.similarity.get(key, np.nan) for record in run.rounds])


def _count(run: Run) -> str:
    return "one round" if len(run.rounds) == 1 else f"{len(run.rounds)} rounds"
