"""What a site's own model says about new records. Nothing leaves the site, and no key is needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from secure_sapefl.data.arrays import read_npz
from secure_sapefl.data.prepare import Array
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import ImageSchema, Schema
from secure_sapefl.data.tables.values import readable_rows
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import softmax
from secure_sapefl.site.data import images_of, load_rows
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import own_sites, personal_model, trained_state
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

Problems = tuple[tuple[str, str], ...]
"""What a record is called, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """One row a record, in the order of the file."""

    names: tuple[str, ...]  # what the records are called: a column of the file, or their numbers
    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]  # [records, classes]
    absorbed: int  # the last round in the model
    bad: tuple[tuple[str, str], ...] = ()  # records that do not fit the study, and why: they have no prediction

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(self.classes[k] for k in self.probabilities.argmax(1))

    def to_json(self) -> dict[str, Any]:
        records = [
            {"record": name, "class": chosen, "probabilities": dict(zip(self.classes, row, strict=True))}
            for name, chosen, row in zip(self.names, self.chosen, self.probabilities.tolist(), strict=True)
        ]
        bad = [{"record": name, "problem": why} for name, why in self.bad]
        return {"absorbed_round": self.absorbed, "records": records, "bad_records": bad}


def study_with_model(home: SiteHome) -> StudyFile:
    """The study whose model is meant where nobody says which: the only one that has a model here."""
    found = [study for study in home.studies() if home.state_path(study.digest).exists()]
    if len(found) != 1:
        names = ", ".join(f"{study.name} ({study.digest[:16]})" for study in found) or "none"
        raise BadInput(f"Which study? Site {home.name!r} has a model of: {names}. Name the study with --study.")
    return found[0]


def predict(home: SiteHome, terms: StudyTerms, patients: Path, name_column: str | None = None) -> Predictions:
    """The site's personalized model on the records of ``patients``, prepared as its training rows were."""
    state = trained_state(home, terms)
    records, names, bad = _records(patients, terms.file.data, name_column)
    rows = load_rows(home.data_path, terms.file, home.name)
    theta = personal_model(terms, own_sites(terms, rows.prepared(home.name)), state)
    logits = terms.blueprint.model.outputs(theta[None], torch.from_numpy(rows.prepare(records))[None])[0].numpy()
    return Predictions(
        names=tuple(names),
        classes=terms.file.data.classes,
        probabilities=softmax(logits),
        absorbed=state.absorbed,
        bad=bad,
    )


def _records(path: Path, schema: Schema, name_column: str | None) -> tuple[Array, Sequence[str], Problems]:
    """Records without their classes, those that fit and those that do not; a label column may be there and is not
    looked at."""
    if isinstance(schema, ImageSchema):
        if name_column is not None:
            raise BadInput(f"{path.name}: --id names a column of a table; these are images.")
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
