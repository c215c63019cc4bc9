"""One process at a time, named to whoever comes second; nothing to clean up after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from secure_sapefl.errors import Busy, OutputFailed
from secure_sapefl.storage import lock
from secure_sapefl.storage.lock import Lock, is_held

HOLDER = """
import sys
from pathlib import Path
from secure_sapefl.storage.lock import Lock

with Lock(Path(sys.argv[1]), "It", "Wait."):
    print("held", flush=True)
    sys.stdin.readline()
"""


def taken(path: Path) -> Lock:
    return Lock(path, "The run", "Wait for it to end.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_second_process_is_told_who_holds_it_until_that_one_is_killed(path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(Busy, match=rf"^The run is held by process {holder.pid}\. Wait for it to end\.$"):
        taken(path)
    assert is_held(path)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    taken(path).close()


def test_closing_lets_go_and_the_file_is_nobody_elses(path: Path) -> None:
    with taken(path):
        assert is_held(path)
        assert path.stat().st_mode & 0o777 == 0o600
    assert not is_held(path)


def test_what_was_never_locked_is_not_held_and_not_made(path: Path) -> None:
    assert not is_held(path)
    assert not path.exists()


@pytest.mark.parametrize("known", [None, "", "1: FLOCK  ADVISORY  WRITE 4711 00:00:1 0 EOF\n"])
def test_a_holder_the_kernel_does_not_name_is_another_process(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str | None
) -> None:
    listing = tmp_path / "locks"
    if known is not None:
        listing.write_text(known)
    monkeypatch.setattr(lock, "_LOCKS", listing)
    with taken(path), pytest.raises(Busy, match="held by another process"):
        taken(path)


def test_a_process_that_waits_is_not_the_holder(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with taken(path):
        status = path.stat()
        place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        listing = tmp_path / "locks"
        listing.write_text(
            f"1: -> FLOCK  ADVISORY  WRITE 12 {place} 0 EOF\n1: FLOCK  ADVISORY  WRITE 34 {place} 0 EOF\n"
        )
        monkeypatch.setattr(lock, "_LOCKS", listing)
        with pytest.raises(Busy, match="process 34"):
            taken(path)


def test_a_folder_that_is_not_there_and_a_link_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match=r"The run cannot be locked .* No such file"):
        taken(tmp_path / "nowhere" / "lock")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputFailed, match="The run cannot be locked"):
        taken(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
