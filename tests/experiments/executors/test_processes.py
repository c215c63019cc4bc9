"""Processes that compute cells: the same numbers as one, and none outlives the command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.errors import SapeflError
from secure_sapefl.experiments.cells import CellStore
from secure_sapefl.experiments.executors.base import Work
from secure_sapefl.experiments.executors.processes import Processes, default_jobs
from secure_sapefl.experiments.runner import Runner
from secure_sapefl.experiments.setting import Contender, Setting, Task


@pytest.fixture
def work(tiny: Callable[..., Setting]) -> list[Work]:
    return [Work(tiny().cell(Task(dataset="synthetic"), Contender(method="fedavg"), seed)) for seed in range(2)]


def test_processes_side_by_side_give_the_same_numbers(work: list[Work], tmp_path: Path) -> None:
    cells = [one.cell for one in work]
    alone = Runner(store=CellStore(tmp_path / "alone"), executor=Processes(1)).run(cells, "alone")
    together = Runner(store=CellStore(tmp_path / "together"), executor=Processes(2)).run(cells, "together")
    assert {d: r.trajectory for d, r in alone.items()} == {d: r.trajectory for d, r in together.items()}


def test_one_job_is_done_here_in_order(work: list[Work]) -> None:
    assert [found for _, found in Processes(1).computed(lambda one: (os.getpid(), one.cell.config.seed), work)] == [
        (os.getpid(), 0),
        (os.getpid(), 1),
    ]
    assert default_jobs() >= 1


def ended(_: Work) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_ended_from_outside_is_said_to_be(work: list[Work]) -> None:
    with pytest.raises(SapeflError, match="ended from outside"):
        list(Processes(2).computed(ended, work))


PROGRAM = (sys.executable, "-m", "secure_sapefl")
COMMAND = (
    "compare", "--methods", "local,fedavg,fedprox", "--seeds", "2", "--clients", "2",
    "--partition", "iid", "--local-epochs", "1", "--data-option", "rows=60", "--data-option", "classes=3",
)  # fmt: skip


@pytest.mark.slow
def test_workers_end_with_a_killed_comparison(tmp_path: Path) -> None:
    command = [*PROGRAM, *COMMAND, "--rounds", "3000", "--jobs", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while process.poll() is None and len(_session(process.pid)) < 3:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    for _ in range(600):
        if not _session(process.pid):
            return
        time.sleep(0.1)
    pytest.fail(f"still running: {_session(process.pid)}")


def _session(leader: int) -> list[int]:
    """Processes of the session that ``leader`` opened."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(entry.name))
    return found
