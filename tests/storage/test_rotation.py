"""Logs that another process writes: put away when full, without stopping the writer."""

import subprocess
import sys
from pathlib import Path

from secure_sapefl.storage.rotation import rotate_open


def test_a_full_log_is_put_away_and_the_last_goes(tmp_path: Path) -> None:
    log = tmp_path / "relay.log"
    assert not rotate_open(log, 5)
    for text in ("first!", "second", "third!"):
        with log.open("a") as file:
            file.write(text)
        assert rotate_open(log, 5, old=2)
    assert log.read_text() == ""
    assert not rotate_open(log, 5)
    assert [(tmp_path / f"relay.log.{k}").read_text() for k in (1, 2)] == ["third!", "second"]
    assert not (tmp_path / "relay.log.3").exists()


def test_a_writer_goes_on_at_the_new_end(tmp_path: Path) -> None:
    """As `Child` opens it: to be appended to."""
    log = tmp_path / "log"
    code = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)"
    with log.open("ab") as out:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=out, text=True)
    assert child.stdin is not None
    child.stdin.write("before\n")
    child.stdin.flush()
    while log.stat().st_size < 7:
        pass
    assert rotate_open(log, 5)
    child.communicate("after\n")
    assert log.read_text() == "after\n"
    assert (tmp_path / "log.1").read_text() == "before\n"
