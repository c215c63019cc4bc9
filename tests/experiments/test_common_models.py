"""A common model is trained once, and what methods make of it is what their whole runs end with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.experiments import runner as runner_module
from secure_sapefl.experiments.cells import Cell, CellResult, run_cell
from secure_sapefl.experiments.common_models import common_of, path_of, read
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task

PRIVATE = {
    "dp_epsilon": 8.0,
    "dp_delta": 1e-5,
    "clients": 5,
    "data_options": {"rows": 300, "classes": 3, "flip_y": 0.0},
}
SYNTHETIC = Task(dataset="synthetic")


def outcome(result: CellResult) -> list[object]:
    """Of every site; what is undefined is None, which equals itself."""
    written = result.to_json()
    return [written[name] for name in ("main", "second", "client_names", "test_rows", "source")]


@pytest.fixture
def cell_for(tiny: Callable[..., Setting]) -> Callable[..., Cell]:
    def make(method: str, **changes: object) -> Cell:
        return tiny(**(PRIVATE | changes)).cell(SYNTHETIC, Contender(method=method, shared_steps=3), 0)

    return make


def test_whole_runs_end_with_the_same_numbers(cell_for: Callable[..., Cell], runner: Runner) -> None:
    cells = [cell_for("ditto"), cell_for("sapefl", lr=0.2), cell_for("fedavg")]
    found = runner.run(cells, "at home")
    for cell in cells:
        whole = run_cell(cell)
        assert outcome(found[cell.digest]) == outcome(whole)
    assert len({str(outcome(found[cell.digest])) for cell in cells}) == 3
    assert len(list(runner.store.folder.glob("common-*"))) == 1


def test_a_common_model_is_trained_once_whatever_is_done_at_home(
    cell_for: Callable[..., Cell], runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Cell] = []
    train = runner_module.train
    monkeypatch.setattr(runner_module, "train", lambda cell: (trained.append(cell), train(cell))[1])
    runner.run([cell_for("ditto"), cell_for("fedavg-ft", lr=0.1)], "two methods")
    runner.run([cell_for("fedavg-ft", max_grad_norm=3.0)], "another one")
    assert len(trained) == 1


def test_what_changes_the_common_model_is_another_one(cell_for: Callable[..., Cell]) -> None:
    def name(cell: Cell) -> str:
        common = common_of(cell)
        assert common is not None
        return common.digest

    first = name(cell_for("ditto"))
    assert name(cell_for("sapefl", lr=0.2)) == first
    assert name(cell_for("ditto", dp_epsilon=4.0)) != first
    assert name(cell_for("ditto", dp_clip=2.0)) != first
    assert name(replace(cell_for("ditto"), judged_on="validation")) != first


def test_whole_sites_train_before_they_are_clipped(tiny: Callable[..., Setting]) -> None:
    def name(lr: float) -> str:
        contender = Contender(method="fedavg", shared_steps=3, unit="site")
        common = common_of(tiny(**PRIVATE, lr=lr).cell(SYNTHETIC, contender, 0))
        assert common is not None
        return common.digest

    assert name(0.1) != name(0.2)


def test_without_shared_noise_there_is_none(tiny: Callable[..., Setting], cell_for: Callable[..., Cell]) -> None:
    assert common_of(tiny(**PRIVATE).cell(SYNTHETIC, Contender(method="fedavg"), 0)) is None
    assert common_of(cell_for("local")) is None


def test_a_damaged_one_is_named(cell_for: Callable[..., Cell], tmp_path: Path) -> None:
    cell = cell_for("ditto")
    common = common_of(cell)
    assert common is not None
    path = path_of(common, tmp_path)
    path.write_bytes(b"no tensors")
    with pytest.raises(BadInput, match=r"common-synthetic-\w+\.safetensors is damaged .* Delete that file"):
        read(path)
