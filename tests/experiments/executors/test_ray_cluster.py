"""Cells over a Ray cluster: those that fail are tried again and named, and the numbers stay what they are."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.experiments.cells import CellStore
from secure_sapefl.experiments.executors import ray_cluster as module
from secure_sapefl.experiments.executors.base import Work
from secure_sapefl.experiments.executors.processes import Processes
from secure_sapefl.experiments.executors.ray_cluster import RayCluster, on_a_machine, ray_cluster
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task

TINY = (
    "--methods", "local,fedavg", "--seeds", "3", "--clients", "2", "--partition", "iid", "--local-epochs", "1",
    "--data-option", "rows=60", "--data-option", "classes=3",
)  # fmt: skip


class Lost(Exception):
    """As Ray says that a machine is gone: in several lines."""


@dataclass(eq=False)
class Begun:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class FakeRay:
    """Two cores in this process. The seeds of ``losses`` are lost so often."""

    exceptions = SimpleNamespace(RayError=Lost)

    def __init__(self, losses: dict[int, int]) -> None:
        self.losses, self.at_once, self.resources = losses, 0, {}

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **resources: float) -> Callable[..., Any]:
        self.resources = resources
        return lambda function: SimpleNamespace(remote=lambda *arguments: Begun(function, arguments))

    def wait(self, tasks: Sequence[Any], num_returns: int) -> tuple[Sequence[Any], Sequence[Any]]:
        self.at_once = max(self.at_once, len(tasks))
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task: Any) -> Any:
        seed = task.arguments[1].cell.config.seed
        if self.losses.get(seed, 0) > 0:
            self.losses[seed] -= 1
            raise Lost("The machine is gone\nand so on")
        return task.function(*task.arguments)


@pytest.fixture
def work(tiny: Callable[..., Setting]) -> list[Work]:
    cells = [tiny().cell(Task(dataset="synthetic"), Contender(method="fedavg"), seed) for seed in range(6)]
    assert len({cell.digest for cell in cells}) == 6
    return [Work(cell) for cell in cells]


def seed_of(work: Work) -> int:
    return work.cell.config.seed


def test_a_lost_cell_is_tried_again_and_named(work: list[Work]) -> None:
    ray, told = FakeRay({1: 2}), list[str]()
    found = {seed_of(one): seed for one, seed in RayCluster(ray, told.append).computed(seed_of, work)}
    assert found == {seed: seed for seed in range(6)}
    assert told == [
        f"Attempt {attempt} of 3 failed. fedavg on synthetic, lr 0.05, seed 1: Lost: The machine is gone"
        for attempt in (1, 2)
    ]
    assert ray.at_once == 4  # twice the cores
    assert ray.resources == {"num_cpus": 1, "num_gpus": 0, "max_retries": 0}


def test_one_that_fails_every_time_ends_the_sweep_after_all_others(work: list[Work], tmp_path: Path) -> None:
    runner = Runner(store=CellStore(tmp_path), executor=RayCluster(FakeRay({0: 9, 4: 9}), lambda _: None))
    with pytest.raises(
        SapeflError, match=r"(?s)2 of 6 cells failed 3 times each:\nfedavg .*seed 0: Lost.*seed 4: Lost"
    ):
        runner.run([one.cell for one in work], "once")
    assert [runner.store.load(one.cell) is not None for one in work] == [False, True, True, True, False, True]


def test_a_machine_with_other_code_or_without_the_folder_says_so(work: list[Work], tmp_path: Path) -> None:
    assert on_a_machine(seed_of, work[2], tmp_path) == 2
    with pytest.raises(BadInput, match=r"no folder .*elsewhere"):
        on_a_machine(seed_of, work[2], tmp_path / "elsewhere")
    vars(work[2].cell)["digest"] = "of another version"
    with pytest.raises(BadInput, match="another version of secure-sapefl"):
        on_a_machine(seed_of, work[2], tmp_path)


def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match=r"pip install 'secure-sapefl\[ray\]'"), ray_cluster("auto", print):
        pass


def test_a_cluster_that_does_not_answer_is_named_and_one_that_does_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    fake = SimpleNamespace(init=lambda *_, **__: None, shutdown=lambda: left.append(True))
    monkeypatch.setitem(sys.modules, "ray", fake)
    with ray_cluster("10.0.0.7:6379", print):
        assert not left
    assert left == [True]

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("nobody there\nat all")

    fake.init = refuse
    with (
        pytest.raises(BadInput, match=r"'10.0.0.7:6379' \(ConnectionError: nobody there\)"),
        ray_cluster("10.0.0.7:6379", print),
    ):
        pass


@pytest.mark.parametrize(
    ("typed", "address"),
    [(["--ray"], "auto"), (["--ray", "--seeds", "1"], "auto"), (["--ray", "10.0.0.7:6379"], "10.0.0.7:6379")],
    ids=str,
)
def test_the_address_may_be_left_out(
    typed: list[str], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(module, "ray_cluster", lambda where, _: (asked.append(where), nullcontext(Processes(1)))[1])
    command = ["compare", *TINY, "--rounds", "1", "--out", str(tmp_path), *typed]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert asked == [address]


def test_a_cluster_counts_its_own_cores(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", *TINY, "--out", str(tmp_path), "--ray", "--jobs", "2"])
    assert isinstance(done.exception, BadInput)
    assert "Leave one out" in str(done.exception)


@contextmanager
def two_machines() -> Iterator[tuple[Any, Any]]:
    """A cluster of two nodes with a core each, and the second of them."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'secure-sapefl[ray]'")
    from ray.cluster_utils import Cluster

    one = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=one)
    try:
        yield cluster, cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    finally:
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_machine_is_lost_and_the_comparison_comes_to_the_same_numbers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "secure_sapefl", "compare", *TINY, "--rounds", "4000"]
    subprocess.run([*command, "--jobs", "1", "--quiet", "--out", str(tmp_path / "alone")], check=True)
    told = []
    with two_machines() as (cluster, second):
        sweep = subprocess.Popen(
            [*command, "--ray", cluster.address, "--out", str(tmp_path / "ray")], stderr=subprocess.PIPE, text=True
        )
        assert sweep.stderr is not None
        for line in sweep.stderr:
            told.append(line)
            if len(told) == 2:  # by then the second machine has begun, too, and is in the middle of a cell
                cluster.remove_node(second, allow_graceful=False)
        assert sweep.wait() == 0, told
    assert any("failed. " in line and "on synthetic, lr 0.05, seed" in line for line in told), told
    alone, ray = (json.loads((tmp_path / name / "comparison.json").read_text()) for name in ("alone", "ray"))
    assert ray == alone
    assert len(list((tmp_path / "ray" / "cells").glob("*.json"))) == 6
