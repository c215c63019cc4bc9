"""The ledger on disk: what it survives, and what it refuses to guess."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.errors import Busy, LedgerRejected, OutputFailed
from secure_sapefl.privacy.errors import BudgetExhausted
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


def test_a_line_that_lost_its_end_is_named_and_nothing_is_released(three_rounds: Path, budget: Budget) -> None:
    three_rounds.write_bytes(three_rounds.read_bytes()[:-20])
    with pytest.raises(LedgerRejected, match="line 3 is missing"):
        reopened(three_rounds, budget)


def test_half_a_line_that_never_was_whole_goes(three_rounds: Path, budget: Budget) -> None:
    """It was not synced, so nothing was released for it."""
    with three_rounds.open("ab") as file:
        file.write(b'{"line":4,')
    assert len(reopened(three_rounds, budget).events) == 3
    assert three_rounds.read_bytes().endswith(b"}\n")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut_at_a_line_end(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))


@pytest.mark.parametrize("loss", [cut_at_a_line_end, emptied, Path.unlink])
def test_lines_lost_at_the_end_are_missed(three_rounds: Path, budget: Budget, loss: Callable[[Path], None]) -> None:
    loss(three_rounds)
    with pytest.raises(LedgerRejected, match="is missing, and all up to line 3 that the head counts"):
        reopened(three_rounds, budget)


def test_an_older_copy_is_missed(three_rounds: Path, event: Callable[..., Event], budget: Budget) -> None:
    older = three_rounds.read_bytes()
    with FileStore(three_rounds) as store:
        Ledger("north", budget, store).charge([event(round_index=3, steps=10)])
    three_rounds.write_bytes(older)
    with pytest.raises(LedgerRejected, match="line 4 is missing"):
        reopened(three_rounds, budget)


@pytest.mark.parametrize("head", [None, b"", b"nonsense", b"{}", b'{"lines":"x","digest":""}'], ids=repr)
def test_without_its_head_a_ledger_is_refused(three_rounds: Path, budget: Budget, head: bytes | None) -> None:
    path = three_rounds.with_suffix(".head")
    path.unlink() if head is None else path.write_bytes(head)
    cut_at_a_line_end(three_rounds)
    with pytest.raises(LedgerRejected, match=r"north\.head is (missing|damaged)\. .* restore both files"):
        reopened(three_rounds, budget)


def test_both_files_put_back_are_missed_by_who_kept_a_head(
    three_rounds: Path, event: Callable[..., Event], budget: Budget
) -> None:
    older = {path: path.read_bytes() for path in (three_rounds, three_rounds.with_suffix(".head"))}
    with FileStore(three_rounds) as store:
        before = store.head
        Ledger("north", budget, store).charge([event(round_index=3, steps=10)])
        known = store.head
    with FileStore(three_rounds) as store:
        store.require(before)
        store.require(known)
    for path, content in older.items():
        path.write_bytes(content)
    with FileStore(three_rounds) as store, pytest.raises(LedgerRejected, match=r"had 4 lines .* now it has 3"):
        store.require(known)


WRITTEN_BY_0_1_0 = (
    b'{"mechanism": "dp-sgd", "release": "update", "noise_multiplier": 1.3, "sample_rate": 0.05, "steps": 100, '
    b'"round_index": 0, "study": "s", "digest": "e9984533efd39211bf38f16aee4a824324e815f24dedd7813db9a10bd3ab7669"}\n'
    b'{"mechanism": "gaussian", "release": "score", "noise_multiplier": 2.5, "sample_rate": 1.0, "steps": 1, '
    b'"round_index": 0, "study": "s", "digest": "83479fae72f7519d2a83985de1d5fb01943e4ba9637475b7198ff030b54a91a6"}\n'
)


def test_a_ledger_of_0_1_0_opens_goes_on_and_has_a_head_from_then_on(
    path: Path, event: Callable[..., Event], budget: Budget
) -> None:
    path.write_bytes(WRITTEN_BY_0_1_0)
    score = event(mechanism="gaussian", release="score", noise_multiplier=2.5, sample_rate=1.0, steps=1)
    with FileStore(path) as store:
        ledger = Ledger("north", budget, store)
        assert ledger.events == (event(), score)
        ledger.charge([event(round_index=1, steps=1)])
    assert path.read_bytes().startswith(WRITTEN_BY_0_1_0)
    assert reopened(path, budget).events == (event(), score, event(round_index=1, steps=1))
    path.write_bytes(WRITTEN_BY_0_1_0)
    with pytest.raises(LedgerRejected, match="line 3 is missing"):
        reopened(path, budget)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (WRITTEN_BY_0_1_0[:-20], "line 2 is cut short"),
        (WRITTEN_BY_0_1_0.replace(b"2.5", b"25.0"), "line 2 does not follow"),
        (WRITTEN_BY_0_1_0.split(b"\n")[1] + b"\n", "line 1 does not follow"),
    ],
)
def test_a_damaged_ledger_of_0_1_0_is_refused(path: Path, budget: Budget, content: bytes, sentence: str) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerRejected, match=sentence):
        reopened(path, budget)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda lines: [lines[0], b"nonsense\n", lines[2]], "line 2 is not an entry"),
        (lambda lines: [lines[0], lines[1].replace(b'"steps":10', b'"steps":1'), lines[2]], "line 2 does not follow"),
        (lambda lines: [lines[0], lines[1].replace(b"1.3", b"NaN"), lines[2]], "line 2 is not an entry"),
        (lambda lines: [lines[0], lines[2]], "line 2 does not follow"),
        (lambda lines: [lines[1], lines[0], lines[2]], "line 1 does not follow"),
        (lambda lines: [lines[0], lines[1], lines[1], lines[2]], "line 3 does not follow"),
        (lambda lines: [b"[]\n"], "line 1 is not an entry"),
        (lambda lines: [b"\xff\xfe\n"], "line 1 is not an entry"),
    ],
    ids=["nonsense", "cheaper", "nan", "lost", "moved", "twice", "list", "bytes"],
)
def test_a_changed_file_is_refused_by_line(
    three_rounds: Path, budget: Budget, damage: Callable[[list[bytes]], list[bytes]], sentence: str
) -> None:
    three_rounds.write_bytes(b"".join(damage(three_rounds.read_bytes().splitlines(keepends=True))))
    before = three_rounds.read_bytes()
    with pytest.raises(LedgerRejected, match=sentence):
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
            with pytest.raises(OutputFailed, match="Nothing was sent"):
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
    with pytest.raises(Busy, match=f"held by process {holder.pid}"):
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
