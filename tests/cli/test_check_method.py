"""`check-method` from the outside: what it prints, and how it ends."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.conformance import suite
from secure_sapefl.conformance.suite import Verdict


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Verdict]:
    """What the suite says; it has tests of its own, and takes its time."""
    given = [Verdict(check="shapes", asks="A round gives finite tensors.", status="ok")]

    def conformity(_: str) -> Iterator[Verdict]:
        return iter(given)

    monkeypatch.setattr(suite, "conformity", conformity)
    return given


def test_a_method_that_lacks_its_private_form_is_one_and_is_told(
    cli: Callable[..., Any], verdicts: list[Verdict]
) -> None:
    verdicts.append(Verdict(check="private form", asks="A budget.", status="missing", found=("no `releases`",)))
    answer = cli("check-method", "mine.py")
    assert answer.code == 0
    assert "A round gives finite tensors." in answer.out
    assert "missing" in answer.out
    assert "no `releases`" in answer.out


def test_a_method_that_fails_ends_with_a_sentence(cli: Callable[..., Any], verdicts: list[Verdict]) -> None:
    verdicts.append(Verdict(check="order", asks="Order.", status="fails", found=("update differs by up to 1",)))
    answer = cli("check-method", "mine.py", "--format", "json")
    assert answer.code == 2
    assert "mine.py fails 1 of 2 checks: order." in answer.err
    assert [one["status"] for one in json.loads(answer.out)] == ["ok", "fails"]


def test_a_file_that_is_not_there_is_named(cli: Callable[..., Any]) -> None:
    answer = cli("check-method", "nowhere.py")
    assert answer.code == 2
    assert "cannot read nowhere.py" in answer.err


def test_a_run_of_ones_own_method_has_a_folder_of_a_plain_name(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    Path("methods").mkdir()
    Path("methods/mine.py").write_text("from secure_sapefl.algorithms.local import ALGORITHM\n")
    answer = cli(
        "simulate", "--method", "methods/mine.py", "--clients", "3", "--rounds", "1", "--data-option", "rows=90", "-q"
    )
    assert answer.code == 0, answer.err
    (run,) = Path("runs").iterdir()
    assert run.name.endswith("-mine-synthetic")
