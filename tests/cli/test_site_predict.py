"""`site predict` at the terminal: records, a threshold with its goal, a curve in a file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from tests.small_study import coordinator, data_file, home, identities, make_study, study, study_values, write_study

__all__ = ["coordinator", "data_file", "home", "identities", "make_study", "study", "study_values", "write_study"]


@pytest.fixture
def arguments(home: SiteHome, study: StudyFile, write_study: Any, tmp_path: Path) -> list[str]:
    terms = StudyTerms.from_file(study)
    draws = np.random.default_rng(0).normal(0, 0.2, terms.blueprint.model.parameters)
    theta = torch.from_numpy(draws.astype(np.float32))
    home.study_folder(study.digest).mkdir(mode=0o700)
    own = {"theta_personal": theta[None]}
    SiteState(study=study.digest, site="a", absorbed=1, answered=1, theta_global=0 * theta, own=own).save(
        home.state_path(study.digest)
    )
    patients = tmp_path / "patients.csv"
    patients.write_text("age,sex,chol\n60,f,200\n600,f,200\n30,m,\n")
    return ["site", "predict", str(patients), "--study", str(write_study(study)), "--home", str(home.path)]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_a_threshold_is_chosen_and_judged(arguments: list[str], tmp_path: Path) -> None:
    curve = tmp_path / "curve.csv"
    found = run(*arguments, "--sensitivity", "1", "--curve", str(curve))
    assert "training rows for a sensitivity of 1." in found.stderr
    assert "Record 2 has no prediction" in found.stderr
    assert found.stdout.splitlines()[0] == "record,class,probability of no,probability of yes"
    lines = curve.read_text().splitlines()
    assert len(lines) == 100
    assert lines[0].startswith("threshold,")
    told = json.loads(run(*arguments, "--specificity", "1", "--format", "json").stdout)
    assert told["decision"]["training_rows"]["specificity"]["value"] == 1
    chosen = {one["record"]: one["class"] for one in told["records"]}
    for one in told["records"]:
        assert chosen[one["record"]] == (
            "yes" if one["probabilities"]["yes"] >= told["decision"]["threshold"] else "no"
        )


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--sensitivity", "0.9", "--specificity", "0.9"), "one goal"),
        (("--sensitivity", "90"), "0.9 is 90 %"),
        (("--positive", "yes"), "is for a threshold or a curve"),
        (("--sensitivity", "0.9", "--positive", "maybe"), "'maybe'"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments: list[str], more: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        run(*arguments, *more)
