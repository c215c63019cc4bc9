"""What a site can know of its models now: its own, the common one, and one of its rows alone, on the same test rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import Array
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.data import load_rows
from secure_sapefl.site.evaluation import judged
from secure_sapefl.site.evaluation.alone import Tell, kept_or_trained
from secure_sapefl.site.evaluation.judged import Judged
from secure_sapefl.site.evaluation.models import Model, judged_model
from secure_sapefl.site.evaluation.subgroups import subgroups
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import common_model, personal_model, trained_state
from secure_sapefl.site.state import judged_path
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.tasks.base import Task
from secure_sapefl.worth import Worth

ALONE, COMMON, OWN = "alone", "common", "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    site: str
    rounds: int  # in the models
    over: bool
    task: Task
    labels: tuple[str, ...]  # names of classes, of labels that are yes or no, or of numbers
    y: Array  # numbers in their units
    models: Mapping[str, Model]  # alone, common (unless the method has none) and own
    now: Judged  # with groups
    history: tuple[Judged, ...]  # every round that was judged

    @property
    def worth(self) -> Worth:
        """By the task's main metric."""
        main, common = self.task.metrics[0], self.models.get(COMMON)
        return Worth(
            alone=self.models[ALONE].sure[main.name],
            common=None if common is None else common.sure[main.name],
            own=self.models[OWN].sure[main.name],
            by=main,
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
    task, answers = terms.blueprint.task, {name: training.on_test_rows(theta) for name, theta in thetas.items()}
    models, y = {name: judged_model(task, *one) for name, one in answers.items()}, answers[OWN][1]
    groups, _ = subgroups(home.data_path, terms.file.data, home.policy().judge_by, loaded.test)
    outputs = models[COMMON].outputs if COMMON in models else None
    return Findings(
        site=home.name,
        rounds=state.absorbed + 1,
        over=state.over,
        task=task,
        labels=terms.file.data.label_names,
        y=y,
        models=models,
        now=judged.judge(max(state.absorbed, 0), y, models[OWN].outputs, outputs, groups, task.metrics),
        history=judged.read(judged_path(folder)),
    )
