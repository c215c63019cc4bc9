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
