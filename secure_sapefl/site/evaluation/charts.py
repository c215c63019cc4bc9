"""The charts of a site's own report: over rounds, calibration, and whether acting on the model helps."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from secure_sapefl.decisions import DecisionCurve, decision_curve
from secure_sapefl.report import formats
from secure_sapefl.report.charts.drawing import DASHES, INK, SERIES, Chart
from secure_sapefl.report.charts.reliability import Reliability, draw_reliability, reliability
from secure_sapefl.report.charts.rounds import axes_over_rounds, line, whole_percent
from secure_sapefl.site.evaluation.findings import ALONE, COMMON, OWN, Findings

LABELS = {OWN: "own model", COMMON: "common model", ALONE: "alone"}
_ROWS_A_BIN = 8
_LOWEST = -0.1  # of a net benefit worth looking at


def charts_of(found: Findings) -> tuple[Chart, ...]:
    """Those that have something to show."""
    made = (_over_rounds(found, "accuracy", "Accuracy", whole_percent), _over_rounds(found, "auc", "AUC", _two_digits))
    two = (_calibration(found), _decisions(found)) if len(found.classes) == 2 and len(found.y) else ()
    return tuple(chart for chart in (*made, *two) if chart is not None)


def _two_digits(value: float) -> str:
    return f"{value:.2f}"


def _over_rounds(found: Findings, metric: str, title: str, form: Callable[[float], str]) -> Chart | None:
    rounds = [one.round_index + 1 for one in found.history]
    own = [one.own[metric] for one in found.history]
    common = [one.common[metric] for one in found.history if one.common is not None]
    if not rounds or all(np.isnan(own)):
        return None

    def draw(figure: Figure) -> None:
        axes = axes_over_rounds(figure, max(rounds))
        line(axes, rounds, own, LABELS[OWN], 0)
        if len(common) == len(own):
            line(axes, rounds, common, LABELS[COMMON], 1)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
        figure.legend(loc="outside lower center", ncols=2)

    return Chart(
        name=f"site-{metric}",
        title=f"{title} over rounds",
        caption=f"This site's models on its {len(found.y):,} test rows, after every round.",
        alt=f"Line chart of {title} over {len(rounds)} rounds; the own model ends at {form(own[-1])}.",
        draw=draw,
    )


def _calibration(found: Findings) -> Chart:
    curves = {label: _reliability(found, name) for name, label in LABELS.items() if name in found.models}
    errors = ", ".join(f"{name} {formats.decimal(curve.error)}" for name, curve in curves.items())

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_reliability(axes, curves)
        figure.legend(loc="outside lower center", ncols=3)

    return Chart(
        name="site-calibration",
        title=f"Do probabilities of {formats.shorten(found.classes[1])} mean what they say?",
        caption=f"Test rows in bins of equal size: the probability said, and the share that happened. Mean distance: "
        f"{errors}.",
        alt=f"Reliability diagram; mean distances from the diagonal: {errors}.",
        draw=draw,
        height=3.9,
    )


def _reliability(found: Findings, name: str) -> Reliability:
    bins = int(np.clip(len(found.y) // _ROWS_A_BIN, 1, _ROWS_A_BIN))
    return reliability(found.models[name].probabilities[:, 1], found.y == 1, bins)


def _decisions(found: Findings) -> Chart:
    curves = {name: decision_curve(model.probabilities[:, 1], found.y == 1) for name, model in found.models.items()}
    own = curves[OWN]
    useful = own.thresholds[own.model > np.maximum(own.everybody, 0)]
    where = f"{100 * useful.min():.0f} to {100 * useful.max():.0f} %" if len(useful) else "no threshold"
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
