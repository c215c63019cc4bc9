"""The ledger on disk: what it survives, and what it refuses to guess."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.errors import OutputFailed
from secure_sapefl.privacy.errors import BudgetExhausted, LedgerBusy, LedgerDamaged
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.ledger_file import FileStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "north.jsonl"


@pytest.fixture
def three_rounds(path: Path, event: Callable[..., Event], budget: Budget) -> Path:
    with FileStore(path) as store:
        ledger = Ledger("north", budget, store)
        for round_index in range(3):
            ledger.charge([event(round_index=round_index, steps=10)])
    return path


def reopened(path: Path, budget: Budget) -> Ledger:
    with FileStore(path) as store:
        return Ledger("north", budget, store)


def test_spending_adds_up_over_runs_and_studies(path: Path, event: Callable[..., Event], budget: Budget) -> None:
    in_memory = Ledger("north", budget)
    for study in ("a", "b", "b"):
        with FileStore(path) as store:
            Ledger("north", budget, store).charge([event(study=study, steps=20)])
        in_memory.charge([event(study=study, steps=20)])
    assert reopened(path, budget).events == in_memory.events
    assert reopened(path, budget).epsilon == in_memory.epsilon
    with FileStore(path) as store, pytest.raises(BudgetExhausted):
        Ledger("north", budget, store).charge([event(study="c", steps=100_000)])
    assert reopened(path, budget).events == in_memory.events


def test_nobody_else_may_read_the_file(three_rounds: Path) -> None:
    assert three_rounds.stat().st_mode & 0o777 == 0o600


def test_a_line_is_an_event_a_person_can_read(three_rounds: Path) -> None:
    first = json.loads(three_rounds.read_text().splitlines()[0])
    assert (first["release"], first["noise_multiplier"], first["steps"], first["round_index"]) == ("update", 1.3, 10, 0)


def test_a_line_cut_short_is_named_and_nothing_is_released(three_rounds: Path, budget: Budget) -> None:
    three_rounds.write_bytes(three_rounds.read_bytes()[:-20])
    with pytest.raises(LedgerDamaged, match="line 3 is cut short"):
        reopened(three_rounds, budget)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda lines: [lines[0], b"nonsense\n", lines[2]], "line 2 is not an event"),
        (lambda lines: [lines[0], lines[1].replace(b'"steps": 10', b'"steps": 1'), lines[2]], "line 2 does not follow"),
        (lambda lines: [lines[0], lines[1].replace(b"1.3", b"NaN"), lines[2]], "line 2 is not an event"),
        (lambda lines: [lines[0], lines[2]], "line 2 does not follow"),
        (lambda lines: [lines[1], lines[0], lines[2]], "line 1 does not follow"),
        (lambda lines: [lines[0], lines[1], lines[1], lines[2]], "line 3 does not follow"),
        (lambda lines: [b"[]\n"], "line 1 is not an event"),
        (lambda lines: [b"\xff\xfe\n"], "line 1 is not an event"),
    ],
    ids=["nonsense", "cheaper", "nan", "lost", "moved", "twice", "list", "bytes"],
)
def test_a_changed_file_is_refused_by_line(
    three_rounds: Path, budget: Budget, damage: Callable[[list[bytes]], list[bytes]], told: str
) -> None:
    three_rounds.write_bytes(b"".join(damage(three_rounds.read_bytes().splitlines(keepends=True))))
    before = three_rounds.read_bytes()
    with pytest.raises(LedgerDamaged, match=told):
        reopened(three_rounds, budget)
    assert three_rounds.read_bytes() == before


def test_an_empty_file_is_an_empty_ledger(path: Path, budget: Budget) -> None:
    path.touch()
    assert reopened(path, budget).events == ()


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="No such file"):
        FileStore(tmp_path / "nowhere" / "north.jsonl")


def test_a_failing_disk_leaves_the_file_as_it_was(
    three_rounds: Path, event: Callable[..., Event], budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = three_rounds.read_bytes()
    real = os.write

    def half(file: int, content: bytes) -> int:
        if len(content) < 150:
            raise OSError(28, "No space left on device")
        return real(file, content[: len(content) // 2])

    with FileStore(three_rounds) as store:
        ledger = Ledger("north", budget, store)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", half)
            with pytest.raises(OutputFailed, match="Nothing was released"):
                ledger.charge([event(round_index=3)])
        assert three_rounds.read_bytes() == before
        ledger.charge([event(round_index=3, steps=1)])
    assert len(reopened(three_rounds, budget).events) == 4


def test_events_are_synced_before_payment_is_proven(
    path: Path, event: Callable[..., Event], budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.read_bytes()))
    with FileStore(path) as store:
        Ledger("north", budget, store).charge([event(), event(release="theta_personal")])
    assert synced[-1].count(b"\n") == 2


HOLDER = """
import os, signal, sys
from pathlib import Path
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.ledger_file import FileStore

ledger = Ledger("north", Budget(4.0, 1e-5), FileStore(Path(sys.argv[1])))
event = Event(mechanism="dp-sgd", release="update", noise_multiplier=1.3, sample_rate=0.05, steps=100, round_index=0,
              study="s")
ledger.charge([event])
print("paid", flush=True)
sys.stdin.readline()
Path(sys.argv[2]).write_text("released")
"""


@pytest.fixture
def holder(path: Path, tmp_path: Path) -> "subprocess.Popen[str]":
    """Another process that has paid for a release and is about to make it."""
    command = [sys.executable, "-c", HOLDER, str(path), str(tmp_path / "release")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "paid\n"
    return process


def test_kill_9_between_the_ledger_and_the_release_over_counts_at_most(
    path: Path, tmp_path: Path, holder: "subprocess.Popen[str]", event: Callable[..., Event], budget: Budget
) -> None:
    """And while the other process lives, nobody else can spend from its ledger."""
    before = path.read_bytes()
    with pytest.raises(LedgerBusy, match="held by another process"):
        FileStore(path)
    holder.kill()
    holder.communicate()
    assert holder.returncode == -signal.SIGKILL
    assert not (tmp_path / "release").exists()
    assert path.read_bytes() == before
    with FileStore(path) as store:
        ledger = Ledger("north", budget, store)
        assert ledger.events == (event(),)
        ledger.charge([event(steps=1)])
    assert len(reopened(path, budget).events) == 2
