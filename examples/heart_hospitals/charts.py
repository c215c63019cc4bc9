"""Two pictures: every hospital's AUC with its interval, and whether probabilities mean what they say."""

import math
from pathlib import Path

from heart_hospitals.study import ALONE, TITLES, Contender, Study, budget
from matplotlib.figure import Figure

from secure_sapefl.report.charts.drawing import FAINT, MARKERS, SERIES, Chart, save_png
from secure_sapefl.report.charts.reliability import draw_reliability

_LOOKS = {method: (SERIES[i], MARKERS[i]) for i, method in enumerate(TITLES)}


def draw_auc(study: Study, path: Path) -> None:
    save_png(
        Chart(
            name="auc",
            title="AUC at each hospital, with 95 % intervals over patients",
            caption="",
            alt="AUC of training alone, FedAvg and SAPE-FL at each hospital and budget, with intervals.",
            draw=lambda figure: _auc(figure, study),
            width=8,
            height=3.4,
        ),
        path,
    )


def draw_calibration(study: Study, path: Path) -> None:
    save_png(
        Chart(
            name="calibration",
            title="Of patients given a probability of disease, how many had it",
            caption="",
            alt="Reliability of training alone, FedAvg and SAPE-FL at each budget; the diagonal is perfect.",
            draw=lambda figure: _calibration(figure, study),
            width=7.5,
            height=2.6,
        ),
        path,
    )


def _auc(figure: Figure, study: Study) -> None:
    contenders = (ALONE, *study.together)
    panels = figure.subplots(1, len(study.hospitals), sharey=True, squeeze=False)[0]
    for axes, hospital in zip(panels, study.hospitals, strict=True):
        for place, contender in enumerate(contenders):
            found, (colour, marker) = study.auc(contender, hospital), _LOOKS[contender.method]
            reach = [[found.value - found.low], [found.high - found.value]]
            axes.errorbar(found.value, place, xerr=reach, color=colour, marker=marker, markersize=4, capsize=2)
        axes.axvline(study.auc(ALONE, hospital).value, color=FAINT, linewidth=0.8)
        axes.set(title=hospital.replace("_", " "), xlabel="AUC", xlim=(0.2, 1.02))
    panels[0].set_yticks(range(len(contenders)), [contender.title for contender in contenders])
    panels[0].invert_yaxis()


def _calibration(figure: Figure, study: Study) -> None:
    panels = figure.subplots(1, len(study.epsilons), sharey=True, squeeze=False)[0]
    alone = study.calibration(ALONE)
    for axes, epsilon in zip(panels, study.epsilons, strict=True):
        shown = {m: study.calibration(Contender(m, epsilon)) for m in ("fedavg", "sapefl")}
        draw_reliability(axes, {TITLES[method]: curve for method, curve in ({"local": alone} | shown).items()})
        axes.set_title("no differential privacy" if math.isinf(epsilon) else f"ε = {budget(epsilon)}")
        axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.label_outer()
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=3, loc="outside lower center")
