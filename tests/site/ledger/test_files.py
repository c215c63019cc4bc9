"""The site's ledger: whatever somebody does to the two files is found, and a crash loses nothing that was written."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapefl_crypto import SiteIdentity
from secure_sapefl.errors import BadInput, Busy, LedgerRejected, OutputFailed
from secure_sapefl.site.ledger.files import LedgerFiles, SiteLedger
from secure_sapefl.site.ledger.lines import LedgerFormat, SiteEvent, fields_of
from secure_sapefl.storage import chained_log
from secure_sapefl.storage.chain import Head, Link, canonical

SITE = SiteIdentity.from_secret(b"SPID\x01" + bytes(range(64)) + b"north")
EVENTS = [
    SiteEvent(kind="approved", study="9f" * 32, note="heart"),
    SiteEvent(kind="sent", study="9f" * 32, round_index=0, message="upload", size=7, digest="ab" * 32, epsilon=1.25),
    SiteEvent(kind="checked", study="9f" * 32, round_index=0, checks={"tags": True, "cohort": False}, note="ünicode"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LedgerFiles(tmp_path / "ledger.jsonl").create(SITE)
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    with SiteLedger(path, SITE) as ledger:
        for event in EVENTS:
            ledger.append(event)
    return path


def events(path: Path) -> list[SiteEvent]:
    return [entry.event for entry in LedgerFiles(path).read(SITE.public).entries]


def test_what_was_written_is_read(written: Path) -> None:
    assert events(written) == EVENTS
    with SiteLedger(written, SITE) as ledger:
        assert ledger.append(SiteEvent(kind="stopped")).number == 4
    assert events(written) == [*EVENTS, SiteEvent(kind="stopped")]


def test_a_line_is_json_a_person_can_read_and_nobody_else_may(written: Path) -> None:
    line = json.loads(written.read_text().splitlines()[1])
    assert (line["line"], line["kind"], line["message"], line["round_index"], line["epsilon"]) == (
        2, "sent", "upload", 0, 1.25,
    )  # fmt: skip
    assert "note" not in line
    for file in (written, written.with_suffix(".head")):
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda lines: [lines[0], lines[1].replace(b"1.25", b"0.25"), lines[2]], "line 2 does not follow"),
        (lambda lines: [lines[0], b"nonsense\n", lines[2]], "line 2 is not an entry"),
        (lambda lines: lines[:2], "line 3 is missing, and all up to line 3"),
        (lambda lines: [], "line 1 is missing, and all up to line 3"),
    ],
    ids=["changed", "nonsense", "cut", "emptied"],
)
def test_the_altered_line_is_named(written: Path, damage: Callable[[list[bytes]], list[bytes]], sentence: str) -> None:
    written.write_bytes(b"".join(damage(written.read_bytes().splitlines(keepends=True))))
    for read in (lambda: LedgerFiles(written).read(SITE.public), lambda: SiteLedger(written, SITE)):
        with pytest.raises(LedgerRejected, match=sentence):
            read()


def test_a_line_that_chains_and_is_no_entry_is_named(written: Path) -> None:
    with SiteLedger(written, SITE) as ledger:
        head = ledger.head
    with written.open("ab") as file:
        file.write(Link.after(head, {"at": "now", "kind": "guessed"}).to_line())
    with pytest.raises(LedgerRejected, match="line 4 is not an entry"):
        LedgerFiles(written).read(SITE.public)


def test_a_chain_forged_without_the_key_is_found(written: Path) -> None:
    """Whoever can write files can compute digests; the signed head is what he cannot make."""
    with SiteLedger(written, SITE) as ledger:
        head = ledger.head
    for _ in range(2):
        forged = Link.after(head, fields_of(SiteEvent(kind="sent"), "2026-01-09T00:00:00+00:00"))
        with written.open("ab") as file:
            file.write(forged.to_line())
        head = forged.head
    with pytest.raises(LedgerRejected, match="line 4 and those after it were added by somebody who could not"):
        LedgerFiles(written).read(SITE.public)


@given(st.integers(0, 400), st.integers(0, 255))
def test_the_head_cannot_be_changed(place: int, byte: int) -> None:
    head, form = Head(3, "ab" * 32), LedgerFormat(Path("ledger.jsonl"), SITE.public, SITE)
    content = form.write_head(head)
    place %= len(content) - 1  # the final newline carries nothing
    altered = content[:place] + bytes([byte]) + content[place + 1 :]
    if altered == content:
        return
    try:
        found = form.read_head(altered, b"")
    except LedgerRejected:
        return
    assert found == head  # another spelling of the same signed values, such as the base64 of unused bits


def test_a_head_of_another_site_or_none_is_refused(written: Path) -> None:
    head = written.with_suffix(".head")
    other = SiteIdentity.generate("north")
    with pytest.raises(LedgerRejected, match="not signed by 'north'"):
        LedgerFiles(written).read(other.public)
    head.unlink()
    with pytest.raises(LedgerRejected, match="head of the ledger is missing"):
        LedgerFiles(written).read(SITE.public)
    with pytest.raises(LedgerRejected, match="head of the ledger is missing"):
        SiteLedger(written, SITE)


def test_a_ledger_that_was_removed_is_missed(written: Path) -> None:
    written.unlink()
    for read in (lambda: LedgerFiles(written).read(SITE.public), lambda: SiteLedger(written, SITE)):
        with pytest.raises(LedgerRejected, match="line 1 is missing, and all up to line 3"):
            read()


def test_half_a_line_is_cut_off_and_that_is_recorded(written: Path) -> None:
    with written.open("ab") as file:
        file.write(b'{"line":4,"at"')
    assert LedgerFiles(written).read(SITE.public).torn == b'{"line":4,"at"'
    with SiteLedger(written, SITE):
        pass
    repaired = events(written)
    assert repaired[:3] == EVENTS
    assert (repaired[3].kind, repaired[3].size, len(repaired)) == ("repaired", 14, 4)


def test_a_line_whose_head_was_not_signed_yet_is_kept(written: Path) -> None:
    before = written.with_suffix(".head").read_bytes()
    with SiteLedger(written, SITE) as ledger:
        ledger.append(SiteEvent(kind="sent"))
    written.with_suffix(".head").write_bytes(before)
    with SiteLedger(written, SITE) as ledger:
        assert ledger.head.lines == 4
        ledger.append(SiteEvent(kind="sent"))
    assert len(events(written)) == 5


def test_one_process_at_a_time(written: Path) -> None:
    with SiteLedger(written, SITE), pytest.raises(Busy, match=r"site's ledger .* is held by process"):
        SiteLedger(written, SITE)
    with SiteLedger(written, SITE) as ledger:
        assert len(LedgerFiles(written).read(SITE.public).entries) == ledger.head.lines


def test_a_refused_ledger_is_not_kept_locked(written: Path) -> None:
    content = written.read_bytes()
    written.write_bytes(content[:-5])
    with pytest.raises(LedgerRejected):
        SiteLedger(written, SITE)
    written.write_bytes(content)
    with SiteLedger(written, SITE) as ledger:
        assert ledger.head.lines == 3


@pytest.mark.parametrize("fails", ["write", "fsync", "write_private"])
def test_a_full_disk_lets_nothing_happen_and_loses_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def full(*_: object) -> None:
        if fails == "write_private":
            raise OutputFailed("ledger.head cannot be written: no space left on device.")
        raise OSError(28, "No space left on device")

    with SiteLedger(written, SITE) as ledger:
        with monkeypatch.context() as broken:
            broken.setattr(chained_log if fails == "write_private" else os, fails, full)
            with pytest.raises(OutputFailed, match=r"(?i)no space left on device.*Nothing was sent"):
                ledger.append(SiteEvent(kind="sent"))
        assert events(written) == EVENTS
        ledger.append(SiteEvent(kind="stopped"))
    assert events(written) == [*EVENTS, SiteEvent(kind="stopped")]


def test_a_line_is_on_disk_before_its_head_and_both_before_append_returns(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, synced = os.fsync, []

    def noted(file: int) -> None:
        status = os.fstat(file)
        synced.append((status.st_ino == written.stat().st_ino, status.st_size))
        honest(file)

    with SiteLedger(written, SITE) as ledger:
        monkeypatch.setattr(os, "fsync", noted)
        line = canonical(ledger.append(SiteEvent(kind="sent")).to_json()) + b"\n"
        monkeypatch.undo()
    assert synced[0] == (True, written.stat().st_size)
    assert written.read_bytes().endswith(line)
    assert [ours for ours, _ in synced] == [True, False, False]  # then the head's file, and its folder


def test_a_really_full_disk() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        chained_log._write_all(full.fileno(), b"x")  # no ledger can be opened on a device


WRITER = """
import sys
from collections.abc import Callable
from pathlib import Path
from sapefl_crypto import SiteIdentity
from secure_sapefl.site.ledger.lines import SiteEvent
from secure_sapefl.site.ledger.files import SiteLedger
identity = SiteIdentity.from_secret(b"SPID\\x01" + bytes(range(64)) + b"north")
with SiteLedger(Path(sys.argv[1]), identity) as ledger:
    while True:
        print(ledger.append(SiteEvent(kind="sent", note="x" * 300)).number, flush=True)
"""


def test_after_kill_9_every_line_that_was_promised_is_there(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(20):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        promised = [int(line) for line in process.stdout.read().split()] or [20]
    with SiteLedger(path, SITE) as ledger:
        assert ledger.head.lines in (promised[-1], promised[-1] + 1)
    assert len(events(path)) >= promised[-1]


@pytest.mark.parametrize("wrong", [{"kind": "guessed"}, {"kind": "sent", "epsilon": float("nan")}])
def test_what_is_no_event(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        SiteEvent(**wrong)  # type: ignore[arg-type]


def test_a_symbolic_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputFailed, match="Cannot open"):
        SiteLedger(path, SITE)


def test_reading_between_two_writes_is_consistent(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that comes between reading the head and reading the lines is noticed, and both are read again."""
    honest, calls = chained_log._bytes, []  # the one moment between two reads

    def meanwhile(file: Path) -> bytes:
        content = honest(file)
        calls.append(file)
        if len(calls) == 1:
            with SiteLedger(written, SITE) as ledger:
                ledger.append(SiteEvent(kind="sent"))
                ledger.append(SiteEvent(kind="sent"))
        return content

    monkeypatch.setattr(chained_log, "_bytes", meanwhile)
    assert len(LedgerFiles(written).read(SITE.public).entries) == 5


def test_a_second_crash_at_the_same_place_does_no_harm_either(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a line and its head: who opens the ledger next signs what he found before he writes on."""

    def die(path: Path, content: bytes) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with SiteLedger(written, SITE) as ledger, monkeypatch.context() as patch:
            patch.setattr(chained_log, "write_private", die)
            with pytest.raises(KeyboardInterrupt):
                ledger.append(SiteEvent(kind="stopped"))
    assert events(written) == [*EVENTS, SiteEvent(kind="stopped"), SiteEvent(kind="stopped")]
