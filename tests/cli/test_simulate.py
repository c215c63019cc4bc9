"""`secure-sapefl simulate` from the outside: bad input, clean output, and runs that are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app

pytestmark = pytest.mark.usefixtures("unrendered")
TINY = (
    "--clients", "4", "--local-epochs", "1", "--kappa", "5", "--data-option", "rows=240", "--data-option", "classes=3",
)  # fmt: skip
PLAIN = (*TINY, "--rounds", "3", "--protection", "plaintext")
Cli = Callable[..., Any]


@pytest.fixture
def quick(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The same without drawing the report, which has its own tests and takes longer than the run."""
    monkeypatch.setattr("secure_sapefl.report.run_report.write_report", lambda folder: None)
    return cli


def refused(answer: Any, *words: str) -> None:
    """One sentence on stderr, nothing on stdout, exit 2, and no file anywhere."""
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err
    assert answer.err.startswith(("secure-sapefl: ", "Usage: "))
    if answer.err.startswith("secure-sapefl: "):
        assert len(answer.err.strip().splitlines()) == 1


BAD = {
    "dataset": (("--dataset", "synthetik"), ("synthetik", "Did you mean 'synthetic'?", "secure-sapefl data list")),
    "file": (("--dataset", "no/such/file.npz"), ("no/such/file.npz",)),
    "method": (("--method", "fedvag"), ("fedvag", "Did you mean 'fedavg'?", "secure-sapefl methods")),
    "kappa 0": (("--kappa", "0"), ("kappa",)),
    "kappa -1": (("--kappa", "-1"), ("kappa",)),
    "kappa nan": (("--kappa", "nan"), ("kappa",)),
    "clients": (("--clients", "2000"), ("2000 sites", "Ask for at most")),
    "no clients": (("--clients", "0"), ("clients",)),
    "participation 0": (("--participation", "0"), ("participation",)),
    "participation 1.1": (("--participation", "1.1"), ("participation",)),
    "participation nan": (("--participation", "nan"), ("participation",)),
    "rounds": (("--rounds", "0"), ("rounds",)),
    "seed": (("--seed", "-1"), ("seed",)),
    "lr": (("--lr", "inf"), ("lr",)),
    "partition": (("--partition", "dirichlt"), ("partition", "dirichlet")),
    "natural": (("--partition", "natural"), ("no groups",)),
    "protection": (("--protection", "none"), ("protection", "ckks")),
    "cuda": (("--device", "cuda"), ("cuda", "--device cpu")),
    "cuda:7": (("--device", "cuda:7"), ("cuda:7", "--device cpu")),
    "cuda:999": (("--device", "cuda:999"), ("cuda:999",)),
    "device": (("--device", "gpu"), ("device",)),
    "option": (("--option", "influense=1"), ("influense", "Did you mean 'influence'?")),
    "option value": (("--option", "influence=2"), ("influence", "2")),
    "option form": (("--option", "influence"), ("KEY=VALUE",)),
    "data option": (("--data-option", "row=100"), ("row", "Did you mean 'rows'?")),
    "data folder": (("--data-dir", "nowhere", "--dataset", "har"), ("nowhere",)),
    "configuration": (("--config", "missing.toml"), ("missing.toml",)),
    "resume": (("--resume", "nowhere"), ("nowhere", "not the folder of a run")),
    "typer's own": (("--rounds", "many"), ("many",)),
    "no such flag": (("--round", "3"), ("--round",)),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_answered_in_a_sentence_and_leaves_nothing(quick: Cli, tmp_path: Path, case: str) -> None:
    arguments, words = BAD[case]
    base = () if case == "resume" else ("--protection", "plaintext", "--out", "out")
    refused(quick("simulate", *base, *arguments), *words)
    assert list(tmp_path.iterdir()) == []


RAISES = """
from torch import nn


class Net(nn.Linear):
    def forward(self, x):
        return super().forward(x if len(x) < 8 else {}["rows"])


def build(about):
    return Net(about.shape[0], about.outputs)


def nothing(about):
    return about.rows


def ends(about):
    raise SystemExit(0)
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("net.py", "secure-sapefl: net.py, line 7, in forward: KeyError: 'rows'. That is code of your own: mend it"),
        ("net.py:nothing", "secure-sapefl: net.py, line 15, in nothing: AttributeError: 'Description' object has no"),
        ("net.py:ends", "secure-sapefl: net.py, line 19, in ends: SystemExit: 0. That is code of your own"),
    ],
)
def test_code_of_ones_own_that_raises_is_named_by_file_and_line(
    quick: Cli, tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / "net.py").write_text(RAISES)
    answer = quick("simulate", *PLAIN, "--quiet", "--model", name)
    refused(answer)
    assert answer.err.startswith(sentence)


def test_a_folder_that_is_no_run_cannot_be_resumed(quick: Cli, tmp_path: Path) -> None:
    refused(quick("simulate", "--resume", str(tmp_path)), "config.toml")
    refused(quick("simulate", "--resume", str(tmp_path), "--rounds", "5"), "--resume")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds = = 3", ("not valid TOML",)),
        ("round = 3", ("'round'", "Did you mean 'rounds'?")),
        ("rounds = 'three'", ("rounds", "'three'")),
        ("[options]\ninfluense = 1", ("influense", "Did you mean 'influence'?")),
    ],
)
def test_a_bad_configuration_is_named(quick: Cli, tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    (tmp_path / "study.toml").write_text(text)
    refused(quick("simulate", "--config", "study.toml", "--out", "out"), *words)
    assert not (tmp_path / "out").exists()


def own_file(path: Path, **changes: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(60, 3)), "y": np.arange(60) % 2, "group": np.repeat(["a", "b", "c"], 20)} | changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": np.full((60, 3), np.nan)}, ("NaN", "'X'")),
        ({"X": None}, ("'X'", "missing")),
        ({"y": None}, ("'y'", "missing")),
        ({"y": np.zeros(60, int)}, ("single class",)),
        ({"y": np.arange(59) % 2}, ("'y'", "60")),
        ({"group": np.zeros(59, int)}, ("'group'", "60")),
    ],
)
def test_a_bad_data_file_is_named(quick: Cli, tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    own_file(tmp_path / "mine.npz", **changes)
    refused(quick("simulate", "--dataset", "mine.npz", "--out", "out"), "mine.npz", *words)
    assert not (tmp_path / "out").exists()


def test_a_file_of_ones_own_runs_by_its_groups_and_gets_a_report(cli: Cli, tmp_path: Path) -> None:
    own_file(tmp_path / "mine.npz")
    answer = cli("simulate", "--dataset", "mine.npz", "--rounds", "1", "--workers", "0", "--format", "json", "--quiet")
    summary = json.loads(answer.out)
    assert (answer.code, answer.err) == (0, "")
    assert summary["client_names"] == ["a", "b", "c"]
    assert summary["partition"] == "natural"
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-sapefl-mine")
    assert {path.name for path in folder.iterdir()} == {
        "lock", "config.toml", "identity.json", "rounds.jsonl", "summary.json", "checkpoint", "plots", "report.html",
        "models.safetensors",
    }  # fmt: skip


def test_runs_begun_in_the_same_second_get_folders_of_their_own(
    quick: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Stopped":
            return cls(2026, 1, 31, 12, tzinfo=UTC)

    monkeypatch.setattr("secure_sapefl.cli.simulate.datetime", Stopped)
    for _ in range(3):
        assert quick("simulate", *TINY, "--rounds", "1", "--protection", "plaintext", "--quiet").code == 0
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert [name.partition("-sapefl-")[2] for name in names] == ["synthetic", "synthetic-2", "synthetic-3"]


def test_another_runs_folder_is_left_alone(quick: Cli, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.toml").write_text("rounds = 1\n")
    refused(quick("simulate", *PLAIN, "--out", "out"), "out", "--resume")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["config.toml"]


def test_json_is_one_strict_document_and_progress_goes_elsewhere(quick: Cli, tmp_path: Path) -> None:
    answer = quick("simulate", *PLAIN, "--out", "out", "--format", "json")

    def no_constants(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    summary = json.loads(answer.out, parse_constant=no_constants)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert answer.err.count("round ") == 3
    assert "accuracy" in answer.err


def test_quiet_says_nothing_but_the_result(quick: Cli) -> None:
    answer = quick("simulate", *PLAIN, "--out", "out", "--quiet")
    assert (answer.code, answer.err) == (0, "")
    assert "accuracy, own models" in answer.out
    assert "for research speed" in answer.out  # plaintext says what it is


def test_a_configuration_file_and_what_is_typed_over_it(quick: Cli, tmp_path: Path) -> None:
    first = json.loads(quick("simulate", *PLAIN, "--out", "one", "--format", "json", "--quiet").out)
    again = ("simulate", "--config", "one/config.toml", "--format", "json", "--quiet", "--out")
    same, other = (json.loads(quick(*again, *more).out) for more in (("two",), ("three", "--seed", "5")))
    assert same["accuracy"] == first["accuracy"] != other["accuracy"]
    assert other["seed"] == 5
    assert (tmp_path / "one" / "config.toml").read_text() == (tmp_path / "two" / "config.toml").read_text()


def test_resuming_a_finished_run_prints_it_again(quick: Cli, tmp_path: Path) -> None:
    first = quick("simulate", *PLAIN, "--out", "out", "--format", "json", "--quiet")
    before = (tmp_path / "out" / "summary.json").read_bytes()
    again = quick("simulate", "--resume", "out", "--format", "json")
    assert again.out == first.out
    assert again.err == ""
    assert (tmp_path / "out" / "summary.json").read_bytes() == before


def test_a_data_file_replaced_under_a_run_is_named(quick: Cli, tmp_path: Path) -> None:
    own_file(tmp_path / "mine.npz")
    quick("simulate", "--dataset", "mine.npz", "--rounds", "1", "--protection", "plaintext", "--out", "out", "--quiet")
    own_file(tmp_path / "mine.npz", X=np.zeros((60, 3)))
    refused(quick("simulate", "--resume", "out"), "out: the data differs", "mine.npz", "--out")


# Real processes: a few seconds each, most of it starting. What was killed once is copied for every test.

LONG = (*TINY, "--rounds", "30")  # so that the end does not come before the kill
LONG_ENCRYPTED = (*TINY, "--rounds", "8")  # rounds of ten times as long


def start(folder: Path, *arguments: str, before: str = "") -> "subprocess.Popen[str]":
    command = ["bash", "-c", f'{before} exec "$@"', "-", sys.executable, "-m", "secure_sapefl", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def killed_after(rounds: int, folder: Path, *arguments: str) -> set[int]:
    """Start a run, kill it with -9 once so many rounds are in its log, and return the processes it had started."""
    process = start(folder, "simulate", *arguments, "--out", "run", "--quiet")
    log = folder / "run" / "rounds.jsonl"
    while not log.exists() or log.read_text().count("\n") < rounds:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    workers = children(process.pid)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    for pipe in (process.stdout, process.stderr):  # not read to the end: a process left behind would hold it open
        assert pipe is not None
        pipe.close()
    assert not (folder / "run" / "summary.json").exists()
    return workers


def children(pid: int) -> set[int]:
    return {int(one) for task in Path(f"/proc/{pid}/task").glob("*/children") for one in task.read_text().split()}


def numbers(text: str) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(text)
    return {key: value for key, value in summary.items() if key not in ("seconds", "versions")}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    killed_after(3, folder, *LONG, "--protection", "plaintext")
    return folder / "run"


def uninterrupted(folder: Path, *arguments: str) -> dict[str, Any]:
    """The numbers of the same run in plaintext, not killed."""
    where = ("--protection", "plaintext", "--out", str(folder / "whole"), "--format", "json", "--quiet")
    return numbers(CliRunner().invoke(app, ["simulate", *arguments, *where]).stdout)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return uninterrupted(tmp_path_factory.mktemp("whole"), *LONG)


def test_a_run_killed_with_minus_9_ends_in_the_same_numbers(
    quick: Cli, killed: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    """Plaintext. Compared: the whole summary but the seconds, bit for bit."""
    shutil.copytree(killed, tmp_path / "run")
    resumed = quick("simulate", "--resume", "run", "--format", "json", "--quiet")
    assert numbers(resumed.out) == whole


def test_a_killed_encrypted_run_ends_in_the_same_numbers_and_leaves_no_process_with_a_key(
    quick: Cli, tmp_path: Path
) -> None:
    """CKKS with a worker process. Compared: everything but seconds and bytes, bit for bit, with a plaintext run."""
    workers = killed_after(3, tmp_path, *LONG_ENCRYPTED, "--workers", "1")
    assert workers
    whole = uninterrupted(tmp_path, *LONG_ENCRYPTED)
    resumed = numbers(quick("simulate", "--resume", "run", "--format", "json", "--quiet").out)
    differs = {key for key in whole if resumed[key] != whole[key]}
    assert differs == {"protection", "bytes"}
    left = [pid for pid in workers if running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def running(pid: int) -> bool:
    """A process nobody waits for may stay in the table as a zombie; it holds nothing any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_full_disk_ends_the_run_and_keeps_what_was_saved(
    quick: Cli, killed: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    """A limit on file size (64 kB, less than a checkpoint) stands for the disk: the same write fails the same way."""
    shutil.copytree(killed, tmp_path / "run")
    before = (tmp_path / "run" / "rounds.jsonl").read_text().splitlines()[:2]  # line 3 may lack its checkpoint
    full = start(tmp_path, "simulate", "--resume", "run", "--quiet", before="ulimit -f 64;")
    out, err = full.communicate()
    assert (full.returncode, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert "Cannot write to run" in err
    assert "--resume run" in err
    assert [path.name for path in (tmp_path / "run" / "checkpoint").iterdir()] == ["state.pt"]
    assert (tmp_path / "run" / "rounds.jsonl").read_text().splitlines()[:2] == before
    resumed = quick("simulate", "--resume", "run", "--format", "json", "--quiet")
    assert numbers(resumed.out) == whole


def test_a_disk_that_is_full_from_the_start_leaves_a_folder_that_can_be_used(quick: Cli, tmp_path: Path) -> None:
    full = start(tmp_path, "simulate", *PLAIN, "--out", "out", "--quiet", before="ulimit -f 0;")
    out, err = full.communicate()
    assert (full.returncode, out) == (2, "")
    assert "Cannot write to out" in err
    assert quick("simulate", *PLAIN, "--out", "out", "--quiet").code == 0
