"""Tiny experiments the tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.experiments.budget.curves import Curves, budget_curves
from secure_sapefl.experiments.budget.request import OFF, Request
from secure_sapefl.experiments.cells import Cell, CellResult, CellStore
from secure_sapefl.experiments.executors.processes import Processes
from secure_sapefl.experiments.runner import Runner, Step
from secure_sapefl.experiments.setting import Contender, Setting, Task

TINY = {
    "clients": 2,
    "rounds": 2,
    "participation": 1.0,
    "partition": "iid",
    "local_epochs": 1,
    "protection": "plaintext",
    "data_options": {"rows": 60, "classes": 3, "flip_y": 0.0},
}


@pytest.fixture
def tiny() -> Callable[..., Setting]:
    """Two clients, two rounds, sixty rows."""

    def make(seeds: int = 1, **changes: Any) -> Setting:
        return Setting.from_values(TINY | changes, seeds)

    return make


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """In this process."""
    return Runner(store=CellStore(tmp_path / "cells"), executor=Processes(1))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """Every cell that is computed from now on."""
    from secure_sapefl.experiments import runner
    from secure_sapefl.experiments.cells import run_cell

    computed: list[Cell] = []

    def counted(cell: Cell) -> CellResult:
        computed.append(cell)
        return run_cell(cell)

    monkeypatch.setattr(runner, "run_cell", counted)
    return computed


@pytest.fixture
def steps(runner: Runner) -> tuple[Runner, list[Step]]:
    """A runner, and what it tells."""
    reported: list[Step] = []
    return Runner(store=runner.store, executor=Processes(1), on_step=reported.append), reported


@pytest.fixture
def result() -> Callable[..., CellResult]:
    """A cell's outcome made up for tests of what is done with it."""

    def make(*accuracy: float, **changes: Any) -> CellResult:
        values = {
            "main": accuracy,
            "second": accuracy,
            "trajectory": (accuracy,),
            "client_names": tuple(f"c{i}" for i in range(len(accuracy))),
            "source": "made up",
            "partition": "iid",
            "seconds": 1.0,
        }
        return CellResult(**(values | changes))

    return make


@pytest.fixture
def request_for(tiny: Callable[..., Setting]) -> Callable[..., Request]:
    def make(*methods: str, epsilons: tuple[float, ...] = (2.0, OFF), seeds: int = 1) -> Request:
        return Request(
            setting=tiny(seeds),
            task=Task(dataset="synthetic"),
            contenders=tuple(Contender(method=method) for method in methods),
            epsilons=epsilons,
            delta=1e-5,
        )

    return make


@pytest.fixture
def curves(request_for: Callable[..., Request], runner: Runner, calls: list[Cell]) -> Curves:
    return budget_curves(request_for("sapefl", "local", seeds=2), runner)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, result: Callable[..., CellResult]) -> list[Cell]:
    """Instead of training: best at a rate of 0.07 and a pull of 1."""
    cells: list[Cell] = []

    def made_up(cell: Cell) -> CellResult:
        cells.append(cell)
        distance = abs(cell.config.lr - 0.07) + 0.1 * abs(cell.config.options.get("mu", 1) - 1)
        return result(0.9 - distance)

    monkeypatch.setattr("secure_sapefl.experiments.runner.run_cell", made_up)
    return cells
