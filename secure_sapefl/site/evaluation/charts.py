"""The charts of a site's own report: over rounds, then what the labels allow: calibration, whether acting on the model
helps, or predicted against measured numbers."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from secure_sapefl.decisions import DecisionCurve, decision_curve
from secure_sapefl.report import formats
from secure_sapefl.report.charts.drawing import DASHES, INK, SERIES, Chart
from secure_sapefl.report.charts.reliability import Reliability, draw_reliability, reliability
from secure_sapefl.report.charts.rounds import axes_over_rounds, line
from secure_sapefl.report.shown import Shown
from secure_sapefl.site.evaluation.findings import ALONE, COMMON, OWN, Findings

LABELS = {OWN: "own model", COMMON: "common model", ALONE: "alone"}
_ROWS_A_BIN = 8
_LOWEST = -0.1  # of a net benefit worth looking at


def charts_of(found: Findings) -> tuple[Chart, ...]:
    """Those that have something to show."""
    over_rounds = [_over_rounds(found, Shown.from_metric(metric)) for metric in found.task.metrics[:2]]
    return tuple(chart for chart in (*over_rounds, *(_by_labels(found) if len(found.y) else ())) if chart is not None)


def _by_labels(found: Findings) -> tuple[Chart, ...]:
    match found.task.labels:
        case "class":
            two = len(found.labels) == 2
            return (_calibration(found, found.labels[1]), _decisions(found)) if two else ()
        case "yes-no":
            return (_calibration(found, "a label"),)
        case "number":
            return tuple(_measured(found, place) for place in range(len(found.labels)))


def _over_rounds(found: Findings, shown: Shown) -> Chart | None:
    rounds = [one.round_index + 1 for one in found.history]
    own = [one.own[shown.name] for one in found.history]
    common = [one.common[shown.name] for one in found.history if one.common is not None]
    if not rounds or all(np.isnan(own)):
        return None

    def draw(figure: Figure) -> None:
        axes = axes_over_rounds(figure, max(rounds))
        line(axes, rounds, own, LABELS[OWN], 0)
        if len(common) == len(own):
            line(axes, rounds, common, LABELS[COMMON], 1)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: shown.tick(value)))
        figure.legend(loc="outside lower center", ncols=2)

    return Chart(
        name=f"site-{shown.name}",
        title=f"{shown.heading} over rounds",
        caption=f"This site's models on its {len(found.y):,} test rows, after every round{shown.direction}.",
        alt=f"Line chart of {shown.title} over {len(rounds)} rounds; the own model ends at {shown.tick(own[-1])}.",
        draw=draw,
    )


def _calibration(found: Findings, of: str) -> Chart:
    curves = {label: _reliability(found, name) for name, label in LABELS.items() if name in found.models}
    errors = ", ".join(f"{name} {formats.decimal(curve.error)}" for name, curve in curves.items())

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_reliability(axes, curves)
        figure.legend(loc="outside lower center", ncols=3)

    return Chart(
        name="site-calibration",
        title=f"Do probabilities of {formats.shorten(of)} mean what they say?",
        caption=f"Test rows in bins of equal size: the probability said, and the share that happened. Mean distance: "
        f"{errors}.",
        alt=f"Reliability diagram; mean distances from the diagonal: {errors}.",
        draw=draw,
        height=3.9,
    )


def _reliability(found: Findings, name: str) -> Reliability:
    """Of the second of two classes; of labels that are yes or no, all of them together."""
    said, happened = found.models[name].answers, found.y > 0
    said = said[:, 1] if found.task.labels == "class" else said
    bins = int(np.clip(said.size // _ROWS_A_BIN, 1, _ROWS_A_BIN))
    return reliability(said.ravel(), happened.ravel(), bins)


def _measured(found: Findings, place: int) -> Chart:
    """One label that is a number."""
    own, name = found.models[OWN].answers[:, place], formats.shorten(found.labels[place])
    truth = found.y[:, place]
    apart = float(np.median(np.abs(own - truth)))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        ends = (min(truth.min(), own.min()), max(truth.max(), own.max()))
        axes.plot(ends, ends, color=INK, lw=0.8, ls=":")
        axes.scatter(truth, own, s=10, color=SERIES[0])
        axes.set(xlabel=f"{name}, measured", ylabel="predicted")

    return Chart(
        name=f"site-measured-{place}",
        title=f"{name}: predicted against measured",
        caption=f"The own model on test rows; on the dotted line it is right. Half of them are within {apart:.3g}.",
        alt=f"Scatter plot of predicted against measured {name}; half of the rows are within {apart:.3g}.",
        draw=draw,
        height=3.6,
    )


def stretches(thresholds: NDArray[np.float64], useful: NDArray[np.bool_]) -> str:
    """Where it is useful, as unbroken stretches: 20 to 34, 40 %."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], useful, [False]]).astype(int)))
    percent = [f"{100 * one:.0f}" for one in thresholds]
    parts = [
        percent[first] if first == last - 1 else f"{percent[first]} to {percent[last - 1]}"
        for first, last in zip(ends[::2], ends[1::2], strict=True)
    ]
    return f"{', '.join(parts)} %" if parts else "no threshold"


def _decisions(found: Findings) -> Chart:
    curves = {name: decision_curve(model.answers[:, 1], found.y == 1) for name, model in found.models.items()}
    own = curves[OWN]
    where = stretches(own.thresholds, own.model > np.maximum(own.everybody, 0))
    return Chart(
        name="site-decisions",
        title="Does acting on it help?",
        caption=f"Net benefit by the probability from which one would act (Vickers and Elkin 2006). The own model is "
        f"above both simple rules, everybody and nobody, at {where}.",
        alt=f"Decision curves; the own model has more net benefit than treating everybody or nobody at {where}.",
        draw=lambda figure: _draw_decisions(figure, curves),
        height=3.6,
    )


def _draw_decisions(figure: Figure, curves: dict[str, DecisionCurve]) -> None:
    axes = figure.subplots()
    for i, name in enumerate(name for name in LABELS if name in curves):
        curve = curves[name]
        axes.plot(curve.thresholds, curve.model, color=SERIES[i], linestyle=DASHES[i], lw=2, label=LABELS[name])
    axes.plot(curves[OWN].thresholds, curves[OWN].everybody, color=INK, lw=0.9, ls=":", label="everybody")
    axes.axhline(0, color=INK, lw=0.9, label="nobody")
    top = max(float(curve.model.max()) for curve in curves.values())
    axes.set(xlim=(0, 1), ylim=(_LOWEST, max(1.1 * top, 0.1)), xlabel="threshold", ylabel="net benefit")
    figure.legend(loc="outside lower center", ncols=3)
