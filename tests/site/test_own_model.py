"""A site's own model as a file: what `site predict` says, without us."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from secure_sapefl.cli.app import main
from secure_sapefl.engine.export import write_export
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import exported_model
from secure_sapefl.site.predict import predict
from secure_sapefl.site.state import SiteState
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms


@pytest.fixture
def terms(study: StudyFile) -> StudyTerms:
    return StudyTerms.from_file(study)


@pytest.fixture
def theta(home: SiteHome, terms: StudyTerms) -> torch.Tensor:
    """A personal model unlike the global one, saved as the site's state."""
    count = terms.blueprint.model.parameters
    theta = torch.from_numpy(np.random.default_rng(0).normal(0, 0.2, count).astype(np.float32))
    home.study_folder(terms.file.digest).mkdir(mode=0o700)
    state = SiteState(
        study=terms.file.digest,
        site="a",
        absorbed=1,
        answered=1,
        theta_global=0 * theta,
        own={"theta_personal": theta[None]},
    )
    state.save(home.state_path(terms.file.digest))
    return theta


def test_it_answers_as_the_sites_own_predictions_do(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, tmp_path: Path
) -> None:
    """From the raw record, by the recipe: sex becomes two columns behind the numbers, which are put on their ranges."""
    patients = tmp_path / "patients.csv"
    patients.write_text("age,sex,chol\n60,f,200\n30,m,\n")
    expected = predict(home, terms, patients).probabilities
    model = exported_model(home, terms)
    numbers = model.recipe["numbers"]
    low, high, typical = (np.array(numbers[name]) for name in ("low", "high", "typical"))
    rows = np.array([[60, 200], [30, np.nan]])
    scaled = np.nan_to_num((np.clip(rows, low, high) - typical) / ((high - low) / np.sqrt(12)), nan=0)
    assert numbers["columns"] == ["age", "chol"]
    levels = model.recipe["categories"]["sex"]
    sexes = np.array([[sex == level for level in levels] for sex in ("f", "m")])
    inputs = torch.from_numpy(np.concatenate([scaled, sexes], axis=1).astype(np.float32))
    with torch.no_grad():
        np.testing.assert_allclose(model.module(inputs).softmax(1).numpy(), expected, atol=1e-6)


def test_what_is_written_is_the_personal_model(home: SiteHome, terms: StudyTerms, theta: torch.Tensor) -> None:
    file, beside = write_export(exported_model(home, terms), home.path / "m.safetensors")
    weights = load_file(file)
    flat = torch.cat([weights[name].flatten() for name in exported_model(home, terms).module.state_dict()])
    assert torch.equal(flat, theta)
    assert json.loads(beside.read_text())["site"] == "a"


def test_without_a_model_the_site_is_told_when_there_will_be_one(home: SiteHome, terms: StudyTerms) -> None:
    with pytest.raises(HomeRejected, match="no model of study 'heart' yet"):
        exported_model(home, terms)


def test_the_command_takes_a_sites_folder_and_no_other_site(
    home: SiteHome,
    terms: StudyTerms,
    theta: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    write_study: Any,
    study: StudyFile,
) -> None:
    def told(*more: str) -> tuple[int, str]:
        out = str(tmp_path / "own.safetensors")
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", "export", str(home.path), "--out", out, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    assert told("--site", "b", "--study", str(write_study(study)))[0] == 2
    code, said = told("--study", str(write_study(study)))
    assert code == 0, said
    assert "of a after 2 rounds of sapefl" in said
