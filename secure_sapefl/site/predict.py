"""What a site's own model says about new records. Nothing leaves the site, and no key is needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.folders.labelled import new_pictures
from secure_sapefl.data.prepare import Array, Floats
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import ImageSchema, Schema
from secure_sapefl.data.tables.values import readable_rows
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind
from secure_sapefl.site.counting.kept import agreed_at
from secure_sapefl.site.data import images_of, load_rows
from secure_sapefl.site.evaluation.decision import Asked, Decision, decide
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import personal_model, trained_state
from secure_sapefl.site.trainer.starting import training_at
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

Problems = tuple[tuple[str, str], ...]
"""What a record is called, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """One row a record, in the order of the file."""

    names: tuple[str, ...]  # what the records are called: a column of the file, or their numbers
    classes: tuple[str, ...]  # or labels
    probabilities: NDArray[np.float64]  # [records, classes]; of a regression, the numbers themselves
    absorbed: int  # the last round in the model
    kind: LabelKind = "class"
    bad: tuple[tuple[str, str], ...] = ()  # records that do not fit the study, and why: they have no prediction
    decision: Decision | None = None  # None: the most probable class is chosen

    @property
    def chosen(self) -> tuple[str, ...]:
        """The class, the labels that are more likely than not, or nothing where numbers are predicted."""
        if self.kind == "class":
            sure, decision = self.probabilities, self.decision
            likeliest = sure.argmax(1) if decision is None else decision.applied(sure)
            return tuple(self.classes[k] for k in likeliest)
        if self.kind == "number":
            return ("",) * len(self.probabilities)
        found = (zip(self.classes, row > 0.5, strict=True) for row in self.probabilities)
        return tuple("+".join(name for name, yes in row if yes) for row in found)

    @property
    def said(self) -> str:
        """What a row says of each class or label."""
        return "value of" if self.kind == "number" else "probability of"

    def to_json(self) -> dict[str, Any]:
        key = "values" if self.kind == "number" else "probabilities"
        records = [
            {"record": name, **({"class": chosen} if self.kind != "number" else {})}
            | {key: dict(zip(self.classes, row, strict=True))}
            for name, chosen, row in zip(self.names, self.chosen, self.probabilities.tolist(), strict=True)
        ]
        bad = [{"record": name, "problem": why} for name, why in self.bad]
        decision = {} if self.decision is None else {"decision": self.decision.to_json()}
        return {"absorbed_round": self.absorbed, **decision, "records": records, "bad_records": bad}


def study_with_model(home: SiteHome) -> StudyFile:
    """The study whose model is meant where nobody says which: the only one that has a model here."""
    trained = (study for study in home.studies() if study.kind == "training")
    found = [study for study in trained if home.state_path(study.digest).exists()]
    if len(found) != 1:
        names = ", ".join(f"{study.name} ({study.digest[:16]})" for study in found) or "none"
        raise BadInput(f"Which study? Site {home.name!r} has a model of: {names}. Name the study with --study.")
    return found[0]


def predict(
    home: SiteHome, terms: StudyTerms, patients: Path, name_column: str | None = None, asked: Asked | None = None
) -> Predictions:
    """The site's personalized model on the records of ``patients``, prepared as its training rows were. A threshold
    that is ``asked`` for is chosen on the site's training rows and judged on its test rows."""
    state = trained_state(home, terms)
    records, names, bad = _records(patients, terms.file.data, name_column)
    rows = load_rows(home.data_path, terms.file, home.name, agreed_at(home, terms.file))
    own, classes, labels = rows.prepared(home.name), terms.file.data.label_names, terms.file.data.label_is
    if asked is not None and labels.kind != "class":
        raise BadInput("A threshold chooses between two classes, and this study predicts none: leave it out.")
    with training_at(home, terms, own) as training:
        theta = personal_model(training, state)

        def probabilities(X: Floats) -> NDArray[np.float64]:
            outputs = training.outputs(theta, torch.from_numpy(X)).numpy()
            return np.asarray(labels.in_units(terms.blueprint.task.read(outputs)))

        found = probabilities(rows.prepare(records))
        decision = None if asked is None else decide(asked, classes, probabilities, own)
    return Predictions(
        names=tuple(names),
        classes=classes,
        probabilities=found,
        kind=labels.kind,
        absorbed=state.absorbed,
        bad=bad,
        decision=decision,
    )


def _records(path: Path, schema: Schema, name_column: str | None) -> tuple[Array, Sequence[str], Problems]:
    """Records without their classes, those that fit and those that do not; a label column may be there and is not
    looked at."""
    if isinstance(schema, ImageSchema):
        if name_column is not None:
            raise BadInput(f"{path.name}: --id names a column of a table; these are images.")
        if path.is_dir():
            return new_pictures(path, schema)
        images = images_of(read_npz(path), schema)
        return images, [str(number) for number in range(1, len(images) + 1)], ()
    columns, more = read_columns(path, schema), [name_column] if name_column is not None else []
    columns.require([*schema.names, *more], [*schema.known, *more])
    numbers = [str(number) for number in range(1, len(columns) + 1)]
    names = numbers if name_column is None else columns.cells[name_column]
    records, problems = readable_rows(columns, schema)
    if not len(records):
        raise BadInput(f"{path.name}: no record fits the study. The first: {problems[0]}.")
    kept = [name for index, name in enumerate(names) if index not in problems]
    return records, kept, tuple((names[index], why) for index, why in problems.items())
