"""A site's own model on new records: the study's columns, the site's own preparation, nothing else needed."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from secure_sapefl.errors import BadInput, HomeRejected
from secure_sapefl.metrics import softmax
from secure_sapefl.site.data import load_site
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.own_model import personal_model
from secure_sapefl.site.predict import predict
from secure_sapefl.site.state import SiteState
from secure_sapefl.site.trainer.training import OwnProcess
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms

PATIENTS = "age,sex,chol\n60,f,200\n30,m,\n"


@pytest.fixture
def terms(study: StudyFile) -> StudyTerms:
    return StudyTerms.from_file(study)


@pytest.fixture
def theta(home: SiteHome, terms: StudyTerms) -> torch.Tensor:
    """A personal model unlike the global one, saved as the site's state."""
    count = terms.blueprint.model.parameters
    theta = torch.from_numpy(np.random.default_rng(0).normal(0, 0.2, count).astype(np.float32))
    home.study_folder(terms.file.digest).mkdir(mode=0o700)
    SiteState(
        study=terms.file.digest,
        site="a",
        absorbed=1,
        answered=1,
        theta_global=torch.zeros_like(theta),
        own={"theta_personal": theta[None]},
    ).save(home.state_path(terms.file.digest))
    return theta


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS)
    return path


def test_it_is_the_personal_model_on_prepared_records(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, patients: Path
) -> None:
    found = predict(home, terms, patients)
    unit = math.sqrt(3)  # half a range
    inputs = torch.tensor([[0, -unit / 3, 1, 0], [-unit / 2, 0, 0, 1]], dtype=torch.float32)
    expected = softmax(terms.blueprint.model.outputs(theta[None], inputs[None])[0].numpy())
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)
    assert abs(expected[0, 0] - expected[1, 0]) > 0.01  # or the order of records would not show
    assert found.names == ("1", "2")
    assert found.chosen == tuple(("no", "yes")[k] for k in expected.argmax(1))
    assert found.to_json()["absorbed_round"] == 1
    assert found.to_json()["records"][0]["probabilities"].keys() == {"no", "yes"}


def test_records_keep_their_names_and_a_label_is_not_looked_at(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, patients: Path
) -> None:
    plain = predict(home, terms, patients)
    patients.write_text("patient,age,sex,chol,disease\nx7,60,f,200,\ny8,30,m,,nonsense\n")
    named = predict(home, terms, patients, "patient")
    assert named.names == ("x7", "y8")
    np.testing.assert_array_equal(named.probabilities, plain.probabilities)


def test_the_group_of_one_is_the_site_of_the_roster(home: SiteHome, terms: StudyTerms, theta: torch.Tensor) -> None:
    training = OwnProcess(terms, load_site(home.data_path, terms.file, "a"))
    state = SiteState.load(home.state_path(terms.file.digest), study=terms.file.digest, site="a")
    assert torch.equal(personal_model(training, state), theta)


def test_before_the_first_round_there_is_no_model(home: SiteHome, terms: StudyTerms, patients: Path) -> None:
    with pytest.raises(HomeRejected, match="has no model of study 'heart' yet"):
        predict(home, terms, patients)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PATIENTS.replace("chol", "c"), "no column 'chol'"),
        ("age,sex,chol\n600,f,200\n", "no record fits the study. The first: column 'age', line 2: outside"),
        ("id," + PATIENTS.replace("\n", "\n1,").removesuffix("1,"), "'id' is not in the study's schema"),
    ],
)
def test_records_that_do_not_fit(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, patients: Path, text: str, sentence: str
) -> None:
    patients.write_text(text)
    with pytest.raises(BadInput, match=sentence):
        predict(home, terms, patients)


def test_a_bad_record_is_a_bad_record_and_not_a_failed_file(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, patients: Path
) -> None:
    plain = predict(home, terms, patients)
    patients.write_text("age,sex,chol\n60,f,200\n600,f,200\n30,m,\n30,x,\n")
    found = predict(home, terms, patients)
    assert found.names == ("1", "3")
    np.testing.assert_array_equal(found.probabilities, plain.probabilities)
    assert found.bad == (
        ("2", "column 'age', line 3: outside the study's range 0 to 120"),
        ("4", "column 'sex', line 5: not one of the study's levels: f, m"),
    )
    assert [one["record"] for one in found.to_json()["bad_records"]] == ["2", "4"]


def test_a_column_of_names_that_is_not_there(
    home: SiteHome, terms: StudyTerms, theta: torch.Tensor, patients: Path
) -> None:
    with pytest.raises(BadInput, match="no column 'name'"):
        predict(home, terms, patients, "name")
