"""A log on disk: what it survives. Its two users are tested in tests/privacy/test_ledger_file.py and with the site."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from secure_sapefl.errors import Busy, LedgerRejected, OutputFailed
from secure_sapefl.storage import chained_log
from secure_sapefl.storage.chain import Head, Link, canonical, read_link
from secure_sapefl.storage.chained_log import ChainedLog, head_path, read_log


@dataclass(frozen=True)
class Plain:
    name: str = "log of the test"
    first: str = ""
    most_uncounted: int = 2

    def read_link(self, line: bytes, before: Head) -> Link:
        return read_link(line, before)

    def write_head(self, head: Head) -> bytes:
        return canonical(asdict(head))

    def read_head(self, content: bytes, log: bytes) -> Head:
        return Head(**json.loads(content)) if content else Head(0, "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with ChainedLog(tmp_path / "log.jsonl", Plain()) as log:
        log.append([{"n": 1}])
        log.append([{"n": 2}, {"n": 3}])
    return tmp_path / "log.jsonl"


def numbers(path: Path) -> list[int]:
    return [link.fields["n"] for link in read_log(path, Plain()).links]


def test_what_was_appended_is_there_for_the_next(path: Path) -> None:
    with ChainedLog(path, Plain()) as log:
        assert [link.fields["n"] for link in log.found.links] == [1, 2, 3]
        assert log.append([{"n": 4}])[0].number == log.head.lines == 4
    assert numbers(path) == [1, 2, 3, 4]
    assert {path.stat().st_mode & 0o777, head_path(path).stat().st_mode & 0o777} == {0o600}


def test_appending_nothing_writes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with ChainedLog(path, Plain()) as log:
        assert log.append([]) == ()
    assert path.read_bytes() == before


@pytest.mark.parametrize("length", [None, 0, 20])
def test_a_file_that_lost_its_end_is_refused(path: Path, length: int | None) -> None:
    path.unlink() if length is None else os.truncate(path, length)
    for read in (lambda: read_log(path, Plain()), lambda: ChainedLog(path, Plain())):
        with pytest.raises(LedgerRejected, match="In the log of the test, line 1 is missing, and all up to line 3"):
            read()


def test_half_a_line_is_cut_off_and_what_was_cut_is_known(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"li')
    with ChainedLog(path, Plain()) as log:
        assert log.found.torn == b'{"li'
        log.append([{"n": 4}])
    assert numbers(path) == [1, 2, 3, 4]


def test_lines_without_their_head_are_kept_and_counted(path: Path) -> None:
    before = head_path(path).read_bytes()
    with ChainedLog(path, Plain()) as log:
        log.append([{"n": 4}])
    head_path(path).write_bytes(before)
    with ChainedLog(path, Plain()) as log:
        assert log.head.lines == 4
    assert json.loads(head_path(path).read_bytes())["lines"] == 4


def test_one_process_at_a_time_and_a_refused_log_is_let_go(path: Path) -> None:
    with ChainedLog(path, Plain()), pytest.raises(Busy, match="The log of the test is held by process"):
        ChainedLog(path, Plain())
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    with pytest.raises(LedgerRejected):
        ChainedLog(path, Plain())
    path.write_bytes(content)
    ChainedLog(path, Plain()).close()


@pytest.mark.parametrize("late", [False, True], ids=["before the head has its name", "after"])
def test_a_head_that_cannot_be_written_takes_its_lines_with_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Also where the disk fails after the new head took its name: it would count lines that are not there."""
    honest, failures = chained_log.write_private, iter([True])

    def once(file: Path, content: bytes) -> None:
        fails = next(failures, False)
        if late or not fails:
            honest(file, content)
        if fails:
            raise OutputFailed("the folder cannot be synced.")

    with ChainedLog(path, Plain()) as log:
        with monkeypatch.context() as patch:
            patch.setattr(chained_log, "write_private", once)
            with pytest.raises(OutputFailed, match=r"Cannot write to the log of the test: .*synced\. Nothing was sent"):
                log.append([{"n": 4}])
        assert numbers(path) == [1, 2, 3]
        log.append([{"n": 4}])
    assert numbers(path) == [1, 2, 3, 4]


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="Cannot open the log of the test: No such file"):
        ChainedLog(tmp_path / "nowhere" / "log.jsonl", Plain())
