"""`release` from the outside: a finished run's common model, and what is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.engine.published import PublishedModel

RUN = (
    "simulate", "--clients", "3", "--rounds", "1", "--local-epochs", "1", "--participation", "1", "--partition", "iid",
    "--data-option", "rows=90", "--workers", "0", "--out", "run", "--quiet",
)  # fmt: skip


@pytest.fixture
def run(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A finished run in ``run``; its report has tests of its own."""
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    return lambda *more: cli(*RUN, *more)


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_an_encrypted_runs_model_is_published_with_noise_and_counted(
    cli: Callable[..., Any], run: Callable[..., Any]
) -> None:
    assert run().code == 0
    first = cli("release", "run")
    assert first.code == 0, first.err
    assert "This is release 1 of 16." in first.out
    document = json.loads(cli("release", "run", "--out", "two.npz", "--format", "json").out)
    assert (document["file"], document["release"]) == ("two.npz", 2)
    assert PublishedModel.read(Path("two.npz")).about["noise"] == document["noise"] > 0


@pytest.mark.filterwarnings("ignore::secure_sapefl.privacy.errors.PrivacyWarning")
def test_a_plaintext_run_has_no_key_to_protect(cli: Callable[..., Any], run: Callable[..., Any]) -> None:
    assert run("--protection", "plaintext").code == 0
    assert "No noise was added: no key that still exists" in cli("release", "run").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "not a finished run"),
        (("--study", "study.toml"), "not a site's folder"),
        (("--passphrase-file", "words"), "not a site's folder"),
    ],
    ids=["no run", "study", "passphrase"],
)
def test_bad_usage_is_a_sentence(cli: Callable[..., Any], arguments: tuple[str, ...], sentence: str) -> None:
    answer = cli("release", ".", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert sentence in answer.err
    assert not list(Path().iterdir())
