"""What names a cell, and what its file gives back."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.algorithms.fedprox import FedProxOptions
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.experiments import cells
from secure_sapefl.experiments.cells import Cell, CellResult, CellStore, federation_for, run_cell
from secure_sapefl.experiments.setting import Contender, Setting, Task

SYNTHETIC, FEDAVG = Task(dataset="synthetic"), Contender(method="fedavg")


def cell_of(setting: Setting, contender: Contender = FEDAVG) -> Cell:
    return setting.cell(SYNTHETIC, contender, 0)


def test_a_cell_is_one_simulation(tiny: Callable[..., Setting]) -> None:
    cell = cell_of(tiny())
    result, reference = run_cell(cell), simulate(cell.config)
    assert result.main == reference.accuracy.per_client
    assert result.trajectory == (pytest.approx(result.main, abs=1e-5),), "nobody looks at what no table shows"
    watched = run_cell(replace(cell, every_round=True))
    assert watched.main == result.main
    assert watched.trajectory[1:] == result.trajectory
    assert len(watched.trajectory) == 2


def test_who_stops_early_is_looked_at_every_round(tiny: Callable[..., Setting]) -> None:
    assert len(run_cell(cell_of(tiny(early_stopping=5))).trajectory) == 2


def test_so_is_who_stops_early_where_an_experiment_looks_at_the_end_alone(tiny: Callable[..., Setting]) -> None:
    """`compare` and `ablate` do."""
    assert len(run_cell(cell_of(tiny(early_stopping=5, evaluate_every=2))).trajectory) == 2


def test_everything_that_changes_numbers_changes_the_name(tiny: Callable[..., Setting]) -> None:
    cell = cell_of(tiny())
    others = [
        cell_of(tiny(lr=0.1)),
        cell_of(tiny(rounds=3)),
        cell_of(tiny(rows=50)),
        cell_of(tiny(), Contender(method="fedprox")),
        cell_of(tiny(), Contender(method="fedprox", options={"mu": 0.5})),
        tiny().cell(SYNTHETIC, FEDAVG, 1),
        replace(cell, judged_on="validation"),
        replace(cell, division_seed=7),
        replace(cell, every_round=True),
        replace(cell, data_digest="other rows"),
    ]
    assert len({each.digest for each in (cell, *others)}) == len(others) + 1


def test_a_default_spelt_out_and_the_folder_of_the_data_do_not(tiny: Callable[..., Setting], tmp_path: Path) -> None:
    plain, spelt = Contender(method="fedprox"), Contender(method="fedprox", options=FedProxOptions().model_dump())
    assert cell_of(tiny(), plain).digest == cell_of(tiny(data_dir=tmp_path), spelt).digest


def test_another_version_of_the_package_computes_anew(
    tiny: Callable[..., Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cell_of(tiny()).digest
    monkeypatch.setattr(cells, "__version__", "99")
    assert cell_of(tiny()).digest != before


def own_task(folder: Path, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    np.savez(folder / "mine.npz", X=rng.normal(size=(60, 2)), y=np.arange(60) % 3)
    return Task(dataset=str(folder / "mine.npz"))


def test_a_file_that_changes_under_an_experiment_is_noticed(tiny: Callable[..., Setting], tmp_path: Path) -> None:
    cell = tiny(data_options={}).cell(own_task(tmp_path, 0), FEDAVG, 0)
    run_cell(cell)
    own_task(tmp_path, 1)
    with pytest.raises(BadInput, match=r"mine\.npz was changed while the experiment ran"):
        run_cell(cell)


def test_the_store_gives_back_what_it_was_given(tmp_path: Path, tiny: Callable[..., Setting]) -> None:
    result = CellResult(
        main=(0.5, 1 / 3),
        second=(float("nan"), 0.25),
        trajectory=((0.1, 0.2), (0.5, 0.33333)),
        client_names=("a", "b"),
        source="s",
        partition="iid",
        seconds=1.5,
    )
    store, cell = CellStore(tmp_path / "deep" / "cells"), cell_of(tiny())
    assert store.load(cell) is None
    store.save(cell, result)
    again = store.load(cell)
    assert again is not None
    assert math.isnan(again.second[0])
    assert replace(again, second=()) == replace(result, second=())
    assert json.loads(store.path(cell).read_text())["cell"]["config"]["method"] == "fedavg"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"result": {}}', '{"result": {"main": 3}}'])
def test_a_damaged_file_is_named_and_not_passed_over(
    tmp_path: Path, tiny: Callable[..., Setting], content: str
) -> None:
    store, cell = CellStore(tmp_path), cell_of(tiny())
    store.path(cell).write_text(content)
    with pytest.raises(BadInput, match=r"fedavg-synthetic-\w+\.json is damaged .* Delete that file"):
        store.load(cell)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, tiny: Callable[..., Setting]) -> None:
    (tmp_path / "file").write_text("")
    cell = cell_of(tiny())
    with pytest.raises(OutputFailed, match="Cannot write to"):
        CellStore(tmp_path / "file" / "cells").save(cell, run_cell(cell))


def test_another_seed_on_the_same_division_trains_the_same_clients(tiny: Callable[..., Setting]) -> None:
    first, second = (replace(tiny().cell(SYNTHETIC, FEDAVG, seed), division_seed=0) for seed in (0, 1))
    one, two = federation_for(first), federation_for(second)
    assert all(np.array_equal(a.train.X, b.train.X) for a, b in zip(one.clients, two.clients, strict=True))
    assert run_cell(first).trajectory != run_cell(second).trajectory


def test_a_validation_cell_never_sees_a_test_row(tiny: Callable[..., Setting]) -> None:
    judged_on_test = cell_of(tiny())
    judged_on_validation = replace(judged_on_test, judged_on="validation")
    tested = {row.tobytes() for client in federation_for(judged_on_test).clients for row in client.test.X}
    seen = {
        row.tobytes()
        for client in federation_for(judged_on_validation).clients
        for rows in (client.train, client.test)
        for row in rows.X
    }
    assert tested
    assert not tested & seen


def test_fewer_rows(tiny: Callable[..., Setting]) -> None:
    federation = federation_for(cell_of(tiny(rows=40)))
    assert sum(len(client.train) + len(client.test) for client in federation.clients) == 40
