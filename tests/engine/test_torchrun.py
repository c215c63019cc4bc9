"""`torchrun` itself: two processes, one of them killed on the way, and the run goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

pytestmark = pytest.mark.slow

STUDY = (
    "--clients", "5", "--rounds", "6", "--local-epochs", "1", "--group-size", "2", "--workers", "0", "--kappa", "5",
    "--data-option", "rows=240", "--data-option", "classes=3", "--data-option", "flip_y=0",
)  # fmt: skip
QUIET = ("--quiet", "--format", "json")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
COMMAND = ("-m", "secure_sapefl", "simulate")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "run"
    subprocess.run([sys.executable, *COMMAND, *STUDY, *QUIET, "--out", str(out)], check=True, capture_output=True)
    return out


def same(first: Path, second: Path, numbers: Callable[[Any], dict[str, Any]]) -> None:
    summaries = [numbers(json.loads((run / "summary.json").read_text())) for run in (first, second)]
    assert summaries[0] == summaries[1]
    models = [load_file(run / "models.safetensors") for run in (first, second)]
    assert {name: values.tobytes() for name, values in models[0].items()} == {
        name: values.tobytes() for name, values in models[1].items()
    }


def ranks_of(launcher: subprocess.Popen[bytes]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]


def test_a_rank_is_killed_and_the_run_goes_on_to_the_same_numbers(
    alone: Path, tmp_path: Path, numbers: Callable[[Any], dict[str, Any]]
) -> None:
    out = tmp_path / "run"
    launcher = subprocess.Popen(
        [*TORCHRUN, *COMMAND, *STUDY, *QUIET, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    lines = out / "rounds.jsonl"
    while not (lines.exists() and lines.read_bytes().count(b"\n") >= 2):
        assert launcher.poll() is None, "the run ended before anything could be killed"
        time.sleep(0.02)
    os.kill(max(ranks_of(launcher)), signal.SIGKILL)
    assert launcher.wait() != 0
    assert not (out / "summary.json").exists()
    done = subprocess.run(
        [*TORCHRUN, *COMMAND, *QUIET, "--resume", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "sapefl"  # one rank prints
    same(alone, out, numbers)


MODULE = """
from torch import nn


class Net(nn.Module):
    def __init__(self, about):
        super().__init__()
        self.first, self.fc = nn.Linear(about.shape[0], 8), nn.Linear(8, about.outputs)
        self.second, self.dropout = nn.Linear(8, 8), nn.Dropout(0.2)

    def forward(self, x):
        x = self.first(x).relu()
        return self.fc(x + self.dropout(self.second(x)).relu())


def build(about):
    return Net(about)
"""


def test_a_private_study_of_a_module_of_ones_own_comes_to_the_numbers_of_one_process(
    tmp_path: Path, numbers: Callable[[Any], dict[str, Any]]
) -> None:
    (tmp_path / "net.py").write_text(MODULE)
    study = ("--method", "fedavg-ft", "--model", f"{tmp_path}/net.py:build", "--evaluate-every", "3")
    budget = ("--dp-epsilon", "8", "--dp-delta", "1e-3", "--rounds", "3")
    for name, launcher in {"alone": (sys.executable,), "ranks": TORCHRUN}.items():
        command = [*launcher, *COMMAND, *STUDY, *study, *budget, *QUIET, "--out", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    same(tmp_path / "alone", tmp_path / "ranks", numbers)
