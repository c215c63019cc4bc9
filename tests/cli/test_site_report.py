"""`site report`: a page for the site's eyes, the same numbers as JSON, and a model alone that is trained once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import HomeRejected
from secure_sapefl.site.evaluation import alone, judged
from secure_sapefl.site.home import SiteHome
from secure_sapefl.site.state import SiteState, judged_path
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.terms import StudyTerms
from tests.small_study import coordinator, data_file, home, identities, make_study, study, study_values, write_study

__all__ = ["coordinator", "data_file", "home", "identities", "make_study", "study", "study_values", "write_study"]


@pytest.fixture
def arguments(home: SiteHome, study: StudyFile, write_study: Any) -> list[str]:
    """The site after a round, with groups named."""
    terms = StudyTerms.from_file(study)
    draws = np.random.default_rng(0).normal(0, 0.2, terms.blueprint.model.parameters)
    theta = torch.from_numpy(draws.astype(np.float32))
    home.study_folder(study.digest).mkdir(mode=0o700)
    own = {"theta_personal": theta[None]}
    SiteState(study=study.digest, site="a", absorbed=1, answered=1, theta_global=-theta, own=own).save(
        home.state_path(study.digest)
    )
    for index in (0, 1):
        line = judged.judge(index, np.array([0, 1]), np.eye(2, dtype=np.float32), None)
        judged.add(judged_path(home.study_folder(study.digest)), line)
    policy = home.policy_path.read_text().replace("judge_by = []", 'judge_by = ["sex", "age < 60"]')
    home.policy_path.write_text(policy)
    return ["site", "report", "--study", str(write_study(study)), "--home", str(home.path)]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_the_page_says_whether_it_was_worth_it(arguments: list[str], home: SiteHome, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    said = run(*arguments, "--out", str(page)).stdout
    assert said.startswith("Your own model is ")
    text = page.read_text()
    for words in (
        "For this site's eyes. Nothing on this page has left",
        "Is it worth it?",
        "sex: f",
        "age ≥ 60",
        "Who sees what",
    ):
        assert words in text
    assert said.splitlines()[0] in text
    assert text.count("<svg") == 4
    assert page.stat().st_mode & 0o077 == 0


def test_numbers_for_programs_and_alone_is_trained_once(
    arguments: list[str], home: SiteHome, study: StudyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = json.loads(run(*arguments, "--format", "json").stdout)
    assert set(found["models"]) == {"alone", "common", "own"}
    assert found["models"]["own"]["accuracy"]["low"] <= found["models"]["own"]["accuracy"]["value"]
    assert [one["round"] for one in found["history"]] == [0, 1]
    assert sum(one["rows"] for one in found["groups"] if one["name"].startswith("sex")) == found["test_rows"]

    def never(*_: object) -> torch.Tensor:
        raise AssertionError("trained again")

    monkeypatch.setattr(alone, "trained_alone", never)
    assert json.loads(run(*arguments, "--format", "json").stdout) == found
    home.data_path.write_text(home.data_path.read_text().replace(",yes\n", ",no\n", 1))
    with pytest.raises(AssertionError, match="trained again"):  # other records: another model
        run(*arguments)


def test_before_the_first_round_there_is_nothing_to_report(arguments: list[str], home: SiteHome, study: Any) -> None:
    home.state_path(study.digest).unlink()
    with pytest.raises(HomeRejected, match="has no model of study 'heart' yet"):
        run(*arguments)
