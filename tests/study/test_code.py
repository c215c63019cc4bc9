"""The source that a study carries: shown as it is run, counted as it is declared, and never beside a privacy budget."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.study.code import CarriedCode
from secure_sapefl.study.file import StudyFile, parse_study, signed_text
from secure_sapefl.study.settings import PrivacyTerms
from tests.carried_code import HONEST, carried
from tests.small_study import COORDINATOR, TABLE

Make = Callable[..., StudyFile]


@pytest.fixture
def fields(tmp_path: Path) -> dict[str, Any]:
    return carried(tmp_path, TABLE)


def test_the_digest_is_that_of_the_file(fields: dict[str, Any]) -> None:
    code = CarriedCode(**fields["code"])
    assert code.digest == hashlib.sha256(HONEST.encode()).hexdigest()
    assert (code.file, code.function, code.lines) == ("net.py", "build", 7)


def test_the_declared_model_counts_without_running_anything(fields: dict[str, Any]) -> None:
    """Four inputs (age, sex in two levels, cholesterol), six hidden values, two classes."""
    model = CarriedCode(**fields["code"]).declared(2)
    assert model.parameters == 4 * 6 + 6 + 6 * 2 + 2
    assert model.head_start == model.parameters


def test_every_byte_of_the_source_is_in_the_studys_digest_and_under_its_signature(
    make_study: Make, fields: dict[str, Any]
) -> None:
    study = make_study(**fields)
    text = signed_text(study, COORDINATOR)
    import tomllib

    assert parse_study(tomllib.loads(text), "study.toml") == study
    other = make_study(**{**fields, "code": {**fields["code"], "source": HONEST + "\n# more\n"}})
    assert other.digest != study.digest
    with pytest.raises(BadInput, match="signature"):
        parse_study(tomllib.loads(text.replace("nn.Tanh", "nn.ReLU")), "study.toml")


def test_a_study_with_a_budget_refuses_carried_code(make_study: Make, fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="can skip clipping and noise"):
        make_study(**fields, privacy=PrivacyTerms(epsilon=4.0, delta=1e-5).model_dump())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": "def build(about):\n    return 1 \u202e\n"}, "line 2 of the code holds characters"),
        ({"source": "x = 1\x1b[2J\n"}, "line 1 of the code holds characters"),
        ({"source": "def build(:\n"}, "not Python"),
        ({"function": "build()"}, "not the name"),
        ({"function": "import os"}, "not the name"),
        ({"head_start": 10_000}, "head begins at 10,000"),
        ({"parameters": [{"name": "w", "shape": [2, 0]}]}, "shape"),
        ({"parameters": [{"name": "w", "shape": [2]}, {"name": "w", "shape": [2]}], "head_start": 0}, "one name"),
        ({"parameters": [{"name": "w", "shape": [2**20, 2**20]}], "head_start": 0}, "weights whose head"),
    ],
)
def test_code_that_cannot_be_read_or_counted_is_refused(
    fields: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        CarriedCode.read({**fields["code"], **change}, "the code")


def test_a_refusal_does_not_print_the_whole_source(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        CarriedCode.read({**fields["code"], "source": "x = 1\x1b[2J\n" * 1000}, "the code")
    assert len(str(caught.value)) < 600
    assert "\x1b" not in str(caught.value)


def test_code_and_the_name_of_the_model_belong_together(make_study: Make, fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="a study carries code or names a model of ours"):
        make_study(model="small", code=fields["code"])
    with pytest.raises(BadInput, match="a study carries code or names a model of ours"):
        make_study(model="carried")
