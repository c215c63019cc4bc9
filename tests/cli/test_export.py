"""`export` from the outside: a run's models, a site's, and what is neither."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.engine.export import OWN_USE
from secure_sapefl.engine.run_folder import summary_of

RUN = (
    "simulate", "--dataset", "patients.csv", "--label", "outcome", "--group", "hospital", "--method", "fedavg-ft",
    "--rounds", "1", "--local-epochs", "1", "--protection", "plaintext", "--workers", "0", "--out", "run", "--quiet",
)  # fmt: skip


@pytest.fixture
def run(cli: Callable[..., Any], hospitals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run in ``run``; its report has tests of its own."""
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    assert cli(*RUN).code == 0


def test_a_sites_model_is_written_with_its_preprocessing_and_says_whose_it_is(
    cli: Callable[..., Any], run: None
) -> None:
    answer = cli("export", "run", "--site", "birch")
    assert answer.code == 0, answer.err
    assert "Model: model.safetensors, of birch after 1 rounds of fedavg-ft" in answer.out
    assert OWN_USE in answer.out
    recipe = json.loads(Path("model.preprocessing.json").read_text())
    assert (recipe["kind"], recipe["numbers"]["kind"]) == ("table", "standardise")


def test_as_json_it_says_what_the_run_said(cli: Callable[..., Any], run: None) -> None:
    document = json.loads(cli("export", "run", "--site", "cedar", "--out", "c.safetensors", "--format", "json").out)
    assert (document["file"], document["preprocessing"]) == ("c.safetensors", "c.preprocessing.json")
    assert document["test_accuracy"] == summary_of(Path("run"))["accuracy"]["per_client"][2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run"], "Whose model? Name a site with --site: amber, birch, cedar."),
        (["run", "--site", "brich"], "Did you mean 'birch'?"),
        (["run", "--site", "birch", "--study", "study.toml"], "run is not a site's folder"),
        (["run", "--site", "birch", "--out", "model.pt"], "hold pickles, which can run code"),
        (["nowhere", "--site", "birch"], "not a finished run"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    cli: Callable[..., Any], run: None, arguments: list[str], complaint: str
) -> None:
    answer = cli("export", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert not list(Path().glob("model*"))
