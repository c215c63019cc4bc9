"""Disk, clock and company run short, for real. Each test prints a line of evidence for docs/reliability.md."""

import ctypes.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Small = Callable[..., Any]
PRIVATE = {"epsilon": 8.0, "delta": 1e-4}
DISK = 4 << 20
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


@contextmanager
def disk_of_its_own(folder: Path) -> Iterator[None]:
    """A small file system in place of the folder, with the same files."""
    copy = folder.with_name(folder.name + ".before")
    folder.rename(copy)
    folder.mkdir(mode=0o700)
    libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    place = str(folder).encode()
    if libc.mount(b"none", place, b"tmpfs", 0, f"size={DISK},mode=0700".encode()):
        pytest.skip(f"this machine does not let us mount: {os.strerror(ctypes.get_errno())}")
    try:
        shutil.copytree(copy, folder, dirs_exist_ok=True)
        folder.chmod(0o700)
        yield
        shutil.copytree(folder, copy, dirs_exist_ok=True)
    finally:
        libc.umount(place)
        folder.rmdir()
        copy.rename(folder)


FILLED = """
from pathlib import Path
from secure_sapefl.cli.app import main
from secure_sapefl.deploy import agent
original = agent.Agent._send

def full(self, *arguments, **options):
    with open({filler!r}, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    original(self, *arguments, **options)

agent.Agent._send = full
main()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk that is small enough")
def test_a_full_disk_at_the_ledger_stops_the_site_before_anything_leaves(small: Small) -> None:
    """The disk is filled to the last byte after an upload was made and before it is entered in the ledger."""
    study = small(rounds=2, privacy=PRIVATE)
    study.start_server()
    for site in ("north", "south"):
        study.start_site(site)
    home = study.folder / "east"
    with disk_of_its_own(home):
        filler = home / "filler"
        line = ["site", "start", "--study", study.folder / "study.toml", "--home", home]
        line += ["--server", f"127.0.0.1:{study.port}", "--ca", study.folder / "tls" / "ca.pem"]
        program = [sys.executable, "-c", FILLED.format(filler=str(filler)), *map(str, line)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        said = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 2, done.stderr
        assert "No space left" in said
        assert not study.events("east", "sent")
        filler.unlink()
        study.start_site("east")
        study.wait_to_finish_well()
    print(f"\ndisk full: exit code 2, {said!r}; afterwards sent {study.sent('east')}")


@pytest.mark.skipif(FAKETIME is None, reason="needs libfaketime, which moves the clock of single processes")
@pytest.mark.parametrize("who", ["server", "east"])
def test_a_clock_that_jumps_moves_nothing(small: Small, who: str, tmp_path: Path) -> None:
    """All processes of one party see the clock jump by 200 days ahead in round 1, and 100 days back in round 2."""
    study = small(rounds=4, privacy=PRIVATE)
    clock = tmp_path / "clock"
    clock.write_text("+0d")
    faked = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    for name in ("server", *study.file.sites):
        study.more_environment = faked if name == who else {}
        study.start_server() if name == "server" else study.start_site(name)
    for closed, jump in ((1, "+200d"), (2, "-100d")):
        study.wait_for(lambda closed=closed: study.status()["closed"] >= closed)
        clock.write_text(jump)
    study.wait_to_finish_well()
    log = study.folder / f"{who}.log"
    days = sorted({line[10:20] for line in log.read_text().splitlines() if line.startswith('{"time": "')})
    print(f"\nclock of {who} moved: it wrote {days}; all ended well")


def test_a_site_under_its_own_minimum_cohort_refuses_the_sum_and_stays(small: Small) -> None:
    """The study is content with two; the owner of `east` is not. `south` is killed after the first round."""
    study = small(rounds=3, round_deadline=30.0, min_cohort=2)
    policy = study.home("east").policy_path
    policy.write_text(policy.read_text().replace("min_cohort = 2", "min_cohort = 3"))
    study.start_all()
    study.wait_for(lambda: study.status()["closed"] >= 1)
    study.kill("south")
    study.wait_to_finish("server", "north", "east")
    refused = [e for e in study.events("east", "refused") if e.checks == {"minimum cohort": False}]
    print(f"\nown minimum: east refused the sums of rounds {[e.round_index for e in refused]}: {refused[0].note}")
    assert refused[-1].round_index == 2
    assert not study.events("north", "refused")
    assert study.site_status("east")["halted"] is None
    assert study.site_status("east")["absorbed"] == 3
    study.assert_nothing_counted_twice("east")
