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
from secure_sapefl.data.tables.values import features_of
from secure_sapefl.errors import BadInput
from secure_sapefl.metrics import softmax
from secure_sapefl.site.data import images_of, load_rows
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import own_sites, personal_model, trained_state
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """One row a record, in the order of the file."""

    names: tuple[str, ...]  # what the records are called: a column of the file, or their numbers
    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]  # [records, classes]
    absorbed: int  # the last round in the model

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(self.classes[k] for k in self.probabilities.argmax(1))

    def to_json(self) -> dict[str, Any]:
        records = [
            {"record": name, "class": chosen, "probabilities": dict(zip(self.classes, row, strict=True))}
            for name, chosen, row in zip(self.names, self.chosen, self.probabilities.tolist(), strict=True)
        ]
        return {"absorbed_round": self.absorbed, "records": records}


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
    records, names = _records(patients, terms.file.data, name_column)
    rows = load_rows(home.data_path, terms.file, home.name)
    theta = personal_model(terms, own_sites(terms, rows.prepared(home.name)), state)
    logits = terms.blueprint.model.outputs(theta[None], torch.from_numpy(rows.prepare(records))[None])[0].numpy()
    return Predictions(
        names=tuple(names), classes=terms.file.data.classes, probabilities=softmax(logits), absorbed=state.absorbed
    )


def _records(path: Path, schema: Schema, name_column: str | None) -> tuple[Array, Sequence[str]]:
    """Records without their classes; a label column may be there and is not looked at."""
    if isinstance(schema, ImageSchema):
        if name_column is not None:
            raise BadInput(f"{path.name}: --id names a column of a table; these are images.")
        images = images_of(read_npz(path), schema)
        return images, [str(number) for number in range(1, len(images) + 1)]
    columns, more = read_columns(path, schema), [name_column] if name_column is not None else []
    columns.require([*schema.names, *more], [*schema.known, *more])
    records = features_of(columns, schema)
    numbers = [str(number) for number in range(1, len(records) + 1)]
    return records, numbers if name_column is None else columns.cells[name_column]
