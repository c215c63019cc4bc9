"""What a site can know of its models now: its own, the common one, and one of its rows alone, on the same test rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from secure_sapefl.errors import BadInput
from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import Floats, softmax
from secure_sapefl.report.auc_interval import Judged as Ranked
from secure_sapefl.report.auc_interval import auc_interval
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.data import load_rows
from secure_sapefl.site.evaluation import judged
from secure_sapefl.site.evaluation.alone import Tell, kept_or_trained
from secure_sapefl.site.evaluation.judged import Judged, Measures, measures
from secure_sapefl.site.evaluation.subgroups import subgroups
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import common_model, personal_model, trained_state
from secure_sapefl.site.state import judged_path
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.worth import Worth
from secure_sapefl.worth import judged as share

ALONE, COMMON, OWN = "alone", "common", "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model on the held-out rows."""

    outputs: NDArray[np.float32]
    found: Measures
    accuracy: Interval
    auc: Interval  # of two classes; NaN otherwise

    @property
    def probabilities(self) -> Floats:
        return softmax(self.outputs)

    def to_json(self) -> dict[str, Any]:
        return {
            "accuracy": _finite(self.accuracy),
            "auc": _finite(self.auc),
            "metrics": {name: None if math.isnan(value) else value for name, value in self.found.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    site: str
    rounds: int  # in the models
    over: bool
    classes: tuple[str, ...]
    y: NDArray[np.int64]
    models: Mapping[str, Model]  # alone, common (unless the method has none) and own
    now: Judged  # with groups
    history: tuple[Judged, ...]  # every round that was judged

    @property
    def worth(self) -> Worth:
        common = self.models.get(COMMON)
        return Worth(
            alone=self.models[ALONE].accuracy,
            common=None if common is None else common.accuracy,
            own=self.models[OWN].accuracy,
        )

    @property
    def verdict(self) -> str:
        said = self.worth.said_of("your own model", "train alone, and keep to yourself")
        return f"{said[0].upper()}{said[1:]}."

    def to_json(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "rounds": self.rounds,
            "over": self.over,
            "test_rows": len(self.y),
            "models": {name: model.to_json() for name, model in self.models.items()},
            "verdict": self.verdict,
            "groups": self.now.to_json()["groups"],
            "history": [one.to_json() for one in self.history],
        }


def findings(home: SiteHome, terms: StudyTerms, tell: Tell = lambda *_: None) -> Findings:
    """Trains alone where nobody has asked before; ``tell`` hears how far that is. Nothing leaves."""
    if terms.file.data.label_is.kind != "class":
        raise BadInput("A site's report compares models of a classification; `site status` has the results of others.")
    if terms.file.code is not None:
        raise BadInput("A site's report trains the model alone, which is not done with code that a study carries.")
    state, folder = trained_state(home, terms), home.study_folder(terms.file.digest)
    loaded = load_rows(home.data_path, terms.file, home.name, agreed_at(home, terms.file))
    rows = loaded.prepared(home.name)
    training, common = OwnProcess(terms, rows), common_model(terms, state)
    thetas: dict[str, Tensor] = {ALONE: kept_or_trained(folder / "alone.npz", terms, rows, tell)}
    if common is not None:
        thetas[COMMON] = common
    thetas[OWN] = personal_model(training, state)
    models = {name: judged_model(*training.on_test_rows(theta)) for name, theta in thetas.items()}
    groups, _ = subgroups(home.data_path, terms.file.data, home.policy().judge_by, loaded.test)
    outputs = models[COMMON].outputs if COMMON in models else None
    return Findings(
        site=home.name,
        rounds=state.absorbed + 1,
        over=state.over,
        classes=terms.file.data.classes,
        y=rows.test.y,
        models=models,
        now=judged.judge(max(state.absorbed, 0), rows.test.y, models[OWN].outputs, outputs, groups),
        history=judged.read(judged_path(folder)),
    )


def judged_model(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> Model:
    found = measures(outputs, y)
    return Model(outputs=outputs, found=found, accuracy=share(found["accuracy"], len(y)), auc=_auc(outputs, y))


def _auc(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> Interval:
    if outputs.shape[1] != 2 or len(np.unique(y)) < 2:
        return Interval(math.nan, math.nan, math.nan)
    return auc_interval([Ranked(patient=np.arange(len(y)), positive=y == 1, score=softmax(outputs)[:, 1])])


def _finite(found: Interval) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in found.to_json().items()}
