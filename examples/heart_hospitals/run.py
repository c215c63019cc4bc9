"""Four hospitals want to tell who has heart disease. Should they learn together? A narrated study, in one process."""

import math
from statistics import fmean

from common import Setting, say, table, title
from heart_hospitals.charts import draw_auc, draw_calibration
from heart_hospitals.conclusion import conclusion, gains_of
from heart_hospitals.study import ALONE, Study, percent, run_study

EPSILONS = (1.0, 4.0, 8.0, math.inf)
SEEDS = 5


def main(setting: Setting) -> None:
    title("Four hospitals, 920 patients")
    say("""
        In the 1980s Cleveland, Budapest (Hungarian), Zürich and Basel (Switzerland) and the VA hospital in Long Beach
        recorded up to 13 findings of patients referred to them, and whether a coronary artery was narrowed. A fifth of
        each hospital's patients is kept for testing; every study is repeated with other fifths. FedAvg makes one model
        for all, SAPE-FL one for each hospital. All updates are encrypted. ε bounds what anybody can learn about one
        patient from all that leaves a hospital; ε = ∞ is encryption without differential privacy.
    """)
    study = run_study(setting, (4.0, math.inf) if setting.quick else EPSILONS, 1 if setting.quick else SEEDS)
    _patients(study)
    _aucs(study)
    _calibration(study)
    title("Who gained")
    for paragraph in conclusion(gains_of(study), {h: study.patients(h) for h in study.hospitals}):
        say(paragraph)
    draw_auc(study, setting.out / "auc.png")
    draw_calibration(study, setting.out / "calibration.png")


def _patients(study: Study) -> None:
    title("Patients tested at least once")
    rows = [(hospital, *study.patients(hospital)) for hospital in study.hospitals]
    table(("hospital", "with disease", "without"), rows)


def _aucs(study: Study) -> None:
    title("AUC, % (95 % interval over patients)")
    rows = []
    for contender in (ALONE, *study.together):
        found = [study.auc(contender, hospital) for hospital in study.hospitals]
        rows.append((contender.title, *map(percent, found), f"{100 * fmean(one.value for one in found):.1f}"))
    table(("", *study.hospitals, "mean"), rows)
    say(
        "The same seeds and patients for everybody. Gains below are compared patient by patient, which is sharper than "
        "looking whether two intervals overlap."
    )


def _calibration(study: Study) -> None:
    title("Calibration")
    errors = {contender: study.calibration(contender).error for contender in (ALONE, *study.together)}
    table(("", "error, points"), [(contender.title, f"{100 * error:.1f}") for contender, error in errors.items()])
    best, worst = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
    say(
        f"A probability is off by {100 * errors[best]:.1f} points on average at best ({best.title}) and by "
        f"{100 * errors[worst]:.1f} at worst ({worst.title})."
    )
