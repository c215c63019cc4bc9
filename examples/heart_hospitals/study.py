"""The runs of the study and what they say about each hospital's patients.

Every run is made with several seeds, and a seed divides the patients into training and test rows anew. Local-only
releases nothing, so privacy costs it nothing and it is run once a seed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import Finished, Setting, run_all
from heart_hospitals.predictions import SitePredictions, predictions_of
from numpy.typing import NDArray

from secure_sapefl.intervals import Interval
from secure_sapefl.report.auc_interval import Ranked, auc_gain, auc_interval, same_rows
from secure_sapefl.report.charts.reliability import Reliability, reliability

SIMULATION = Path(__file__).with_name("simulation.toml")
TITLES = {"local": "alone", "fedavg": "FedAvg", "sapefl": "SAPE-FL"}
SICK = 1  # the class "disease"


@dataclass(frozen=True, slots=True)
class Contender:
    method: str
    epsilon: float  # infinite without differential privacy

    @property
    def title(self) -> str:
        return TITLES[self.method] if self == ALONE else f"{TITLES[self.method]}, ε = {budget(self.epsilon)}"

    def changes(self) -> dict[str, object]:
        private: dict[str, object] = (
            {} if math.isfinite(self.epsilon) else {"dp_epsilon": None, "dp_delta": None, "dp_public": {}}
        )
        return {"method": self.method, "dp_epsilon": self.epsilon} | private


ALONE = Contender("local", math.inf)


def budget(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def percent(auc: Interval) -> str:
    return f"{100 * auc.value:.1f} ({100 * auc.low:.0f} to {100 * auc.high:.0f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Every contender's answers for every hospital: a set of test patients a seed."""

    hospitals: tuple[str, ...]
    epsilons: tuple[float, ...]
    judged: Mapping[tuple[Contender, str], Sequence[Ranked]]

    @property
    def together(self) -> tuple[Contender, ...]:
        return tuple(Contender(method, e) for method in ("fedavg", "sapefl") for e in self.epsilons)

    def auc(self, contender: Contender, hospital: str) -> Interval:
        return auc_interval(self.judged[contender, hospital])

    def gain(self, contender: Contender, hospital: str) -> Interval:
        """Over training alone."""
        return auc_gain(self.judged[contender, hospital], self.judged[ALONE, hospital])

    def patients(self, hospital: str) -> tuple[int, int]:
        """Different patients that were tested: with disease, and without."""
        return self._tested(hospital, sick=True), self._tested(hospital, sick=False)

    def _tested(self, hospital: str, *, sick: bool) -> int:
        tests = self.judged[ALONE, hospital]
        return len(np.unique(np.concatenate([test.patient[test.positive == sick] for test in tests])))

    def calibration(self, contender: Contender) -> Reliability:
        """Over all hospitals and seeds."""
        tests = [test for hospital in self.hospitals for test in self.judged[contender, hospital]]
        return reliability(np.concatenate([t.score for t in tests]), np.concatenate([t.positive for t in tests]))


def run_study(setting: Setting, epsilons: tuple[float, ...], seeds: int) -> Study:
    together = [Contender(method, e) for method in ("fedavg", "sapefl") for e in epsilons]
    runs = {
        (contender, seed): f"{contender.method}-{contender.epsilon:g}-seed{seed}"
        for contender in (ALONE, *together)
        for seed in range(seeds)
    }
    configs = {name: setting.config(SIMULATION, seed=seed, **c.changes()) for (c, seed), name in runs.items()}
    finished = run_all(configs, setting.out)
    answers = {c: [_answers(finished[runs[c, seed]]) for seed in range(seeds)] for c in (ALONE, *together)}
    hospitals = tuple(answers[ALONE][0])
    numbers = {name: same_rows([_identity(seed[name]) for seed in answers[ALONE]]) for name in hospitals}
    found = {
        (contender, name): [judged(seed[name], number) for seed, number in zip(tests, numbers[name], strict=True)]
        for contender, tests in answers.items()
        for name in hospitals
    }
    return Study(hospitals=hospitals, epsilons=epsilons, judged=found)


def _answers(run: Finished) -> dict[str, SitePredictions]:
    return {one.site: one for one in predictions_of(run.folder)}


def _identity(answers: SitePredictions) -> NDArray[np.float32]:
    """Public ranges prepare a patient alike in every run, so equal rows with equal outcomes are the same patient."""
    return np.column_stack((answers.rows.X, answers.rows.y.astype(np.float32)))


def judged(answers: SitePredictions, patient: NDArray[np.int64] | None = None) -> Ranked:
    """``patient`` says who is who where there are several sets."""
    numbers = np.arange(len(answers.rows)) if patient is None else patient
    return Ranked(patient=numbers, positive=answers.rows.y == SICK, score=answers.probabilities[:, SICK])
