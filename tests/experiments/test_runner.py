"""Finished cells are not computed again, whatever ended the run before."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.experiments import runner as runner_module
from secure_sapefl.experiments.cells import Cell, CellResult
from secure_sapefl.experiments.runner import Runner, Step
from secure_sapefl.experiments.setting import Contender, Setting, Task

FEDAVG = Contender(method="fedavg")


def cells_of(setting: Setting, count: int) -> list[Cell]:
    return [setting.cell(Task(dataset="synthetic"), FEDAVG, seed) for seed in range(count)]


def test_nothing_finished_is_computed_again(
    tiny: Callable[..., Setting], steps: tuple[Runner, list[Step]], calls: list[Cell]
) -> None:
    runner, reported = steps
    cells = cells_of(tiny(), 3)
    first = runner.run(cells[:2], "once")
    second = runner.run([*cells, cells[0]], "twice")
    assert [cell.config.seed for cell in calls] == [0, 1, 2]
    assert all(second[digest] == result for digest, result in first.items())
    assert [(step.done, step.total, step.found) for step in reported] == [
        *((1, 2, False), (2, 2, False)),
        *((1, 3, True), (2, 3, True), (3, 3, False)),
    ]
    assert reported[2].seconds_left is None
    assert reported[-1].seconds_left == 0


def test_what_was_finished_before_a_failure_stays(
    tiny: Callable[..., Setting], runner: Runner, monkeypatch: pytest.MonkeyPatch, result: Callable[..., CellResult]
) -> None:
    cells = cells_of(tiny(), 3)

    def fails_at_the_second(cell: Cell) -> CellResult:
        if cell.config.seed == 1:
            raise RuntimeError("stopped")
        return result(0.5)

    monkeypatch.setattr(runner_module, "run_cell", fails_at_the_second)
    with pytest.raises(RuntimeError, match="stopped"):
        runner.run(cells, "once")
    assert [runner.store.load(cell) is not None for cell in cells] == [True, False, False]


PROGRAM = (sys.executable, "-m", "secure_sapefl")
COMMAND = (
    "compare", "--methods", "local,fedavg,fedprox", "--seeds", "2", "--clients", "2",
    "--partition", "iid", "--local-epochs", "1", "--data-option", "rows=60", "--data-option", "classes=3",
)  # fmt: skip


def test_a_comparison_killed_in_the_middle_goes_on(tmp_path: Path) -> None:
    """SIGKILL after two of six cells: those two files stay as they are, and only the others are computed."""
    command = [*COMMAND, "--rounds", "15", "--jobs", "1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cells = tmp_path / "out" / "cells"
    process = subprocess.Popen(
        [*PROGRAM, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while process.poll() is None and len(list(cells.glob("*.json"))) < 2:
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = {path: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert 2 <= len(finished) < 6
    assert not (tmp_path / "out" / "comparison.json").exists()
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert done.stderr.count("found finished") == len(finished)
    assert len(list(cells.glob("*.json"))) == 6
