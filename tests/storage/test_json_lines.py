"""A line counts once it ends."""

import os
from pathlib import Path

import pytest

from secure_sapefl.storage import json_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for number in range(3):
        json_lines.append(tmp_path / "log.jsonl", {"round": number})
    return tmp_path / "log.jsonl"


def test_what_was_appended_is_read_in_order(path: Path) -> None:
    assert list(json_lines.read(path)) == [{"round": 0}, {"round": 1}, {"round": 2}]
    assert path.read_text() == '{"round": 0}\n{"round": 1}\n{"round": 2}\n'


def test_half_a_line_is_not_there(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"rou')
    assert len(list(json_lines.read(path))) == 3
    json_lines.cut(path, 3)
    json_lines.append(path, {"round": 3})
    assert [line["round"] for line in json_lines.read(path)] == [0, 1, 2, 3]


def test_lines_after_the_first_are_cut_off_unread(path: Path) -> None:
    with path.open("a") as file:
        file.write("nonsense\n")
    json_lines.cut(path, 2)
    assert path.read_text() == '{"round": 0}\n{"round": 1}\n'


def test_a_line_that_is_not_json_is_an_error(path: Path) -> None:
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="Expecting value"):
        list(json_lines.read(path))


def test_a_line_is_synced_before_append_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.read_text()))
    json_lines.append(path, {"round": 3})
    assert synced[-1].endswith('{"round": 3}\n')
