"""What the server keeps of an open round: an attempt is counted before it is used, a claim stays."""

from pathlib import Path

import pytest

from secure_sapefl.coordinator.joint.files import OpenRoundFiles
from secure_sapefl.protocol.messages import RoundOutcome

SUMMED = RoundOutcome(round_index=3, aggregate=b"sum", weights=(("a", 2),), refusals=())


def test_attempts_count_up_within_a_round_and_across_a_crash(tmp_path: Path) -> None:
    assert OpenRoundFiles(tmp_path).next_attempt(0) == 0
    assert OpenRoundFiles(tmp_path).next_attempt(0) == 1
    assert OpenRoundFiles(tmp_path).next_attempt(1) == 0


def test_what_came_is_on_disk_and_goes_with_its_attempt(tmp_path: Path) -> None:
    files = OpenRoundFiles(tmp_path)
    files.next_attempt(0)
    frames, shares = files.stores(0)
    frames["a"] = b"frame"
    shares["a", "b"] = b"share"
    assert (frames["a"], shares["a", "b"], list(shares), len(frames)) == (b"frame", b"share", [("a", "b")], 1)
    assert (tmp_path / "open" / "shares" / "a" / "b").stat().st_mode & 0o077 == 0
    with pytest.raises(KeyError):
        shares["b", "a"]
    del frames["a"]
    assert list(frames) == []
    files.next_attempt(0)
    assert not (tmp_path / "open" / "shares").exists()


def test_a_claim_is_taken_up_again_in_its_round_alone(tmp_path: Path) -> None:
    files = OpenRoundFiles(tmp_path)
    files.next_attempt(3)
    assert files.pending(3) is None
    files.keep_claim(SUMMED, ("a", "b"))
    pending = OpenRoundFiles(tmp_path).pending(3)
    assert pending is not None
    assert (pending.summed, pending.attempt, pending.able) == (SUMMED, 0, ("a", "b"))
    assert files.pending(4) is None
    files.clear()
    assert files.pending(3) is None
    assert files.next_attempt(3) == 1
