"""How sure a site's number is, from the very rows it was judged on."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.data import Federation
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.experiments import site_intervals
from secure_sapefl.experiments.cells import Cell, CellResult, CellStore, federation_for, run_cell
from secure_sapefl.experiments.setting import Contender, Setting, Task
from secure_sapefl.experiments.site_intervals import row_intervals
from secure_sapefl.metrics import CLASS_METRICS, ERRORS


@pytest.fixture
def cell(tiny: Callable[..., Setting]) -> Cell:
    setting = tiny(task="regression", data_options={"rows": 60}, rounds=1)
    return setting.cell(Task(dataset="synthetic"), Contender(method="fedavg"), 0)


@pytest.fixture
def judged(cell: Cell) -> tuple[Result, Federation]:
    federation = federation_for(cell)
    return simulate(cell.config, federation=federation), federation


def test_the_interval_is_around_the_reported_number_of_the_same_rows(judged: tuple[Result, Federation]) -> None:
    result, federation = judged
    found = row_intervals(result, federation)
    assert [one.value for one in found] == pytest.approx(result.main.per_client)
    assert all(one.low < one.value < one.high for one in found)
    exact = replace(ERRORS[0], measure=lambda outputs, y: float(np.mean(outputs == outputs)))
    assert [(one.low, one.high) for one in row_intervals(replace(result, metrics=(exact,)), federation)] == [(1, 1)] * 2


def test_an_accuracy_needs_none_and_many_sites_get_none(
    judged: tuple[Result, Federation], monkeypatch: pytest.MonkeyPatch
) -> None:
    result, federation = judged
    assert row_intervals(replace(result, metrics=CLASS_METRICS), federation) == ()
    monkeypatch.setattr(site_intervals, "MOST_SITES", 1)
    assert row_intervals(result, federation) == ()


def test_a_cell_keeps_them(cell: Cell, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secure_sapefl.intervals.ROW_RESAMPLES", 20)
    done = run_cell(cell)
    assert all(low < main < high for low, main, high in zip(done.low, done.main, done.high, strict=True))
    store = CellStore(tmp_path)
    store.save(cell, replace(done, low=(float("nan"), 0.5)))
    again = store.load(cell)
    assert isinstance(again, CellResult)
    assert again.high == done.high
    assert np.isnan(again.low[0])
