"""Whole or not at all: whatever stops a write, the old file stands and nothing lies beside it."""

import os
from pathlib import Path

import pytest

from secure_sapefl.errors import HomeRejected, OutputFailed
from secure_sapefl.storage.files import (
    make_private_folder,
    remove_unfinished,
    replacing,
    require_private_folder,
    write_private,
    write_whole,
    writing,
)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    write_whole(tmp_path / "file", b"old")
    return tmp_path / "file"


@pytest.mark.parametrize("fails", ["fsync", "open"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    target: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, fails, full)
        with pytest.raises(OSError, match="No space"):
            write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_a_writer_that_stops_half_way_leaves_the_old_file(target: Path) -> None:
    def half() -> None:
        with replacing(target) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_content_is_synced_before_it_takes_the_name(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(target.read_bytes()))
    write_whole(target, b"new")
    assert seen == [b"old", b"new"]  # the file under its other name, then the folder that names it


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_an_ordinary_file_is_as_the_umask_says_and_a_private_one_is_private(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "ordinary", b"")
        write_private(tmp_path / "private", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "ordinary").stat().st_mode & 0o777 == mode
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_what_a_killed_process_left_is_removed(target: Path) -> None:
    other = target.parent / ".filed.1"
    for path in (target.parent / ".file.0123", other):
        path.write_bytes(b"half")
    remove_unfinished(target)
    assert sorted(target.parent.iterdir()) == [other, target]


def test_a_disk_that_says_no_is_a_sentence(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "file"
    said = r"Cannot write to .*: No such file or directory\. Go elsewhere\."
    with pytest.raises(OutputFailed, match=said), writing(nowhere, "Go elsewhere."):
        write_whole(nowhere, b"")
    with pytest.raises(OutputFailed, match="cannot be written: no such file"):
        write_private(nowhere, b"")
    (tmp_path / "file").touch()
    with pytest.raises(OutputFailed, match="cannot be made"):
        make_private_folder(tmp_path / "file" / "below")


def test_a_folder_others_may_enter_is_refused(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "home")
    require_private_folder(tmp_path / "home")
    (tmp_path / "home").chmod(0o750)
    with pytest.raises(HomeRejected, match="chmod 700"):
        require_private_folder(tmp_path / "home")
