"""Runs that are stopped, folders that are damaged, disks that are full."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.engine import run_folder
from secure_sapefl.engine.events import RunBegun, RunEnded, TrainingEnded
from secure_sapefl.engine.identity import Identity
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.run_folder import RunFolder, summary_of
from secure_sapefl.engine.simulator import resume
from secure_sapefl.errors import BadInput, OutputFailed

Tiny = Callable[..., Config]
Numbers = Callable[[Any], dict[str, Any]]
StopAfter = Callable[[Config, Path, int], None]


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_stopped_run_ends_in_the_same_numbers(
    whole: tuple[Path, Result], tiny: Tiny, stop_after: StopAfter, numbers: Numbers, tmp_path: Path, rounds: int
) -> None:
    """Bit for bit: everything in the summary but the seconds, and every line of the log."""
    out = tmp_path / "run"
    stop_after(tiny(), out, rounds)
    assert not (out / "summary.json").exists()
    assert numbers(resume(out).summary()) == numbers(whole[1].summary())
    assert [numbers(line) for line in _lines(out)] == [numbers(line) for line in _lines(whole[0])]


def test_a_stopped_encrypted_run_ends_in_the_same_numbers(
    tiny: Tiny, stop_after: StopAfter, numbers: Numbers, tmp_path: Path
) -> None:
    """Bit for bit too, though its key is gone and another one takes its place."""
    config = tiny(protection="ckks")
    stop_after(config, tmp_path / "run", 2)
    assert numbers(resume(tmp_path / "run").summary()) == numbers(simulate(config).summary())


def test_the_folder_is_its_owners_alone(whole: tuple[Path, Result]) -> None:
    assert whole[0].stat().st_mode & 0o077 == 0


def test_a_finished_run_is_left_as_it_is(whole: tuple[Path, Result], tiny: Tiny, tmp_path: Path) -> None:
    out = tmp_path / "run"
    expected = simulate(tiny(rounds=2), out).summary()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    events: list[object] = []
    assert resume(out, observers=[events.append]).summary() == expected == summary_of(out)
    assert [type(event) for event in events] == [RunBegun, TrainingEnded, RunEnded]
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("tail", ['{"round": 2, "accu', "", "\n", '{"round": 2}\n{"round": 3}\n'], ids=repr)
def test_what_a_crash_left_after_the_last_checkpoint_is_cut_off(
    whole: tuple[Path, Result], tiny: Tiny, stop_after: StopAfter, numbers: Numbers, tmp_path: Path, tail: str
) -> None:
    out = tmp_path / "run"
    stop_after(tiny(), out, 2)
    with (out / "rounds.jsonl").open("a") as file:
        file.write(tail)
    assert numbers(resume(out).summary()) == numbers(whole[1].summary())
    assert [line["round"] for line in _lines(out)] == [0, 1, 2, 3]


def test_without_a_checkpoint_a_run_begins_again(
    whole: tuple[Path, Result], tiny: Tiny, stop_after: StopAfter, numbers: Numbers, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    stop_after(tiny(), out, 2)
    (out / "checkpoint" / "state.pt").unlink()
    assert numbers(resume(out).summary()) == numbers(whole[1].summary())


@pytest.mark.parametrize("damage", [b"", b"garbage", b"PK\x03\x04 half an archive"], ids=repr)
def test_a_damaged_checkpoint_is_said_to_be_one(
    tiny: Tiny, stop_after: StopAfter, tmp_path: Path, damage: bytes
) -> None:
    out = tmp_path / "run"
    stop_after(tiny(), out, 1)
    (out / "checkpoint" / "state.pt").write_bytes(damage)
    with pytest.raises(BadInput, match="damaged"):
        resume(out)


@pytest.mark.parametrize("lines", ["", "not json\nat all\n", '{"round": 0}\n{"round": 1}\n'], ids=repr)
def test_a_damaged_log_is_said_to_be_one(tiny: Tiny, stop_after: StopAfter, tmp_path: Path, lines: str) -> None:
    out = tmp_path / "run"
    stop_after(tiny(), out, 2)
    (out / "rounds.jsonl").write_text(lines)
    with pytest.raises(BadInput, match="damaged"):
        resume(out)


def test_what_is_not_a_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not the folder of a run"):
        resume(tmp_path)
    with pytest.raises(BadInput, match="not a finished run"):
        summary_of(tmp_path)


def test_a_folder_that_holds_something_is_left_alone(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match="holds something"):
        simulate(tiny(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput):
        simulate(tiny(), tmp_path / "file")
    with pytest.raises(OutputFailed):
        simulate(tiny(), tmp_path / "file" / "below")


def test_a_run_that_could_not_begin_can_begin_again(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    begun = Identity(version="1", data="2", partition="3")
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_whole", full)
        with pytest.raises(OutputFailed, match="No space left on device"):
            RunFolder.create(tmp_path / "run", tiny(), begun)
    with RunFolder.create(tmp_path / "run", tiny(), begun):
        pass


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
