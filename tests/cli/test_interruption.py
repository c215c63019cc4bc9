"""Ctrl-C: what is finished is kept, and the command that goes on is there to be typed."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.cli.app import main
from secure_sapefl.engine import assembly
from secure_sapefl.engine.run_folder import RunFolder
from secure_sapefl.experiments import runner

TINY = ("--clients", "3", "--rounds", "2", "--local-epochs", "1", "--data-option", "rows=90", "--kappa", "5")
SMALL = (*TINY, "--partition", "iid", "--seeds", "1", "--jobs", "1", "--out", "an experiment")
EXPERIMENTS = {
    "compare": ("compare", "--methods", "local,fedavg"),
    "budget": ("budget", "--methods", "fedavg", "--epsilons", "8,inf"),
    "ablate": ("ablate", "influence", "--dataset", "synthetic"),
    "figures": ("figures", "trajectories"),
}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda _: None)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["secure-sapefl", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def interrupt_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Ctrl-C the first time ``owner.name`` has done its work; never again."""
    work, done = getattr(owner, name), []

    def interrupted(*arguments: Any) -> Any:
        result = work(*arguments)
        if not done:
            done.append(name)
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, interrupted)


def test_a_run_says_how_to_resume_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    interrupt_after(monkeypatch, RunFolder, "save_round")
    command = ("simulate", *TINY, "--protection", "plaintext", "--out", "my run", "--quiet", "--format", "json")
    assert call(monkeypatch, *command) == 130
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "secure-sapefl: interrupted; what is finished is kept. Go on with:"
    assert said[1:] == ["secure-sapefl simulate --resume 'my run' --format=json --quiet"]
    assert call(monkeypatch, *shlex.split(said[1])[1:]) == 0
    assert len(Path("my run/rounds.jsonl").read_text().splitlines()) == 2


def test_a_run_that_has_not_begun_has_nothing_to_resume(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(monkeypatch, assembly, "federation_of")
    assert call(monkeypatch, "simulate", *TINY, "--out", "mine") == 130
    assert capsys.readouterr().err == "secure-sapefl: interrupted.\n"


@pytest.mark.parametrize("command", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_an_experiment_says_its_own_command_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    interrupt_after(monkeypatch, runner.CellStore, "save")
    assert call(monkeypatch, *command, *SMALL, "--quiet") == 130
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == shlex.join(["secure-sapefl", *command, *SMALL, "--quiet"])
    assert "'an experiment'" in said[-1]
    assert len(list(Path("an experiment/cells").iterdir())) == 1
