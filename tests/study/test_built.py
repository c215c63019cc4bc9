"""Carried code run by its author: the file becomes a part of the study, and says what it builds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.models.declared import DeclaredModel
from secure_sapefl.study.built import carrying, with_code
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.new import new_study
from secure_sapefl.study.terms import StudyTerms
from tests.carried_code import HONEST, carried
from tests.small_study import COORDINATOR, SITES, TABLE

DRAFT: dict[str, Any] = {"name": "heart", "method": "fedavg", "rounds": 1, "largest_site": 100, "data": TABLE}


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(HONEST)
    return tmp_path / "net.py"


def test_a_new_study_takes_the_file_in(net: Path) -> None:
    study = new_study(DRAFT | {"model": f"{net}:build"}, COORDINATOR.public, [site.public for site in SITES])
    assert study.code is not None
    assert (study.model, study.code.source, study.code.file) == ("carried", HONEST, "net.py")
    names = [(parameter.name, parameter.shape) for parameter in study.code.parameters]
    assert names == [("0.weight", (6, 4)), ("0.bias", (6,)), ("2.weight", (2, 6)), ("2.bias", (2,))]


def test_a_head_that_is_named_is_where_the_vector_is_cut(net: Path) -> None:
    draft = DRAFT | {"model": f"{net}:build", "method": "fedafk", "head": "2"}
    study = new_study(draft, COORDINATOR.public, [site.public for site in SITES])
    assert study.code is not None
    assert (study.code.head_start, study.code.weights) == (30, 44)


def test_terms_from_the_file_alone_hold_a_model_that_answers_nothing(
    make_study: Callable[..., StudyFile], tmp_path: Path
) -> None:
    file = make_study(**carried(tmp_path, TABLE))
    declared, built = StudyTerms.from_file(file).blueprint, with_code(file).blueprint
    assert isinstance(declared.model, DeclaredModel)
    assert declared.study == built.study
    assert declared.theta_initial.shape == built.theta_initial.shape
    assert declared.sources == {"model": file.code.digest if file.code else None}


def test_code_that_builds_another_model_than_declared_is_refused(
    make_study: Callable[..., StudyFile], tmp_path: Path
) -> None:
    wider = HONEST.replace("6", "7")
    with pytest.raises(BadInput, match="builds another model than its file declares"):
        with_code(make_study(**carried(tmp_path, TABLE, wider)))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("package.module:build", "carries one file"),
        ("missing.py:build", "cannot read"),
        ("net.py:other", "has no 'other'"),
    ],
)
def test_what_is_no_file_with_such_a_function_is_refused(
    net: Path, monkeypatch: pytest.MonkeyPatch, model: str, words: str
) -> None:
    monkeypatch.chdir(net.parent)
    with pytest.raises(BadInput, match=words):
        carrying(DRAFT | {"model": model})


def test_code_in_a_draft_is_not_taken_as_it_is(net: Path) -> None:
    code = carrying(DRAFT | {"model": f"{net}:build"})["code"]
    with pytest.raises(BadInput, match="'code' is put in by this command"):
        new_study(DRAFT | {"model": "carried", "code": code}, COORDINATOR.public, [one.public for one in SITES])
