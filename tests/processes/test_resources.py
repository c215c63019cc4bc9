"""Disk, clock and company run short, for real. Each test prints a line of evidence for docs/reliability.md."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Small = Callable[..., Any]
PRIVATE = {"epsilon": 8.0, "delta": 1e-4}
DISK = 4 << 20
DAY = 86_400


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
from secure_sapefl.site import agent
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
def test_a_full_disk_at_the_ledger_stops_the_site_before_anything_leaves(either: Small) -> None:
    """The disk is filled to the last byte after an upload was made and before it is entered in the ledger."""
    study = either(rounds=2, privacy=PRIVATE)
    study.start_server()
    for site in (one for one in study.file.sites if one != "east"):
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
        assert "no space left" in said.lower()
        assert not study.events("east", "sent")
        filler.unlink()
        study.start_site("east")
        study.wait_to_finish_well()
    print(f"\ndisk full: exit code 2, {said!r}; afterwards sent {study.sent('east')}")


SHIFTED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_SHIFT"), O_RDONLY | O_CLOEXEC);
    if (file >= 0) { if (read(file, text, 31) < 0) text[0] = 0; close(file); }
    return atol(text);
}
int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = syscall(SYS_clock_gettime, clock, at);
    if (!result && clock == CLOCK_REALTIME) at->tv_sec += shift();
    return result;
}
time_t time(time_t *out) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out) *out = at.tv_sec;
    return at.tv_sec;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec at;
    int result = clock_gettime(CLOCK_REALTIME, &at);
    out->tv_sec = at.tv_sec;
    out->tv_usec = at.tv_nsec / 1000;
    return result;
}
"""


@pytest.fixture
def shifted(tmp_path: Path) -> Callable[[int], dict[str, str]]:
    """``shifted(days)`` moves the wall clock of every process that was started with the environment it returns."""
    library, shift = tmp_path / "shifted.so", tmp_path / "shift"
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: the clock is moved for single processes by a small library")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, "-xc", "-"], input=SHIFTED.encode(), check=True)

    def move(days: int) -> dict[str, str]:
        new = shift.with_suffix(".new")
        new.write_text(str(days * DAY))
        new.rename(shift)
        return {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}

    return move


@pytest.mark.parametrize("who", ["server", "east"])
@pytest.mark.parametrize("days", [200, -1])
def test_a_clock_that_was_wrong_for_a_while_costs_nothing(
    either: Small, who: str, days: int, shifted: Callable[[int], dict[str, str]]
) -> None:
    """All processes of one party see the wall clock jump, and half a minute later back.

    Flower lets nobody in whose clock is more than some minutes off, so nothing can happen in between.
    """
    study = either(rounds=3, privacy=PRIVATE)
    for name in ("server", *study.file.sites):
        study.more_environment = shifted(0) if name == who else {}
        study.start_server() if name == "server" else study.start_site(name)
    study.wait_for(lambda: study.status()["closed"] >= 1)
    environment = {**os.environ, **shifted(days)}
    seen = subprocess.run(["date", "+%F"], env=environment, capture_output=True, text=True, check=True).stdout.strip()
    time.sleep(30)
    while_wrong = study.status()["closed"]
    shifted(0)
    study.wait_to_finish_well()
    print(f"\nclock of {who} at {seen} for 30 s in round 1, then in round {while_wrong}; all ended well")
    assert seen != datetime.now(UTC).date().isoformat()


def test_a_site_under_its_own_minimum_cohort_refuses_the_sum_and_stays(small: Small) -> None:
    """The study is content with two; the owner of `east` is not. `south` is killed after the first round."""
    study = small(rounds=3, round_deadline=90.0, min_cohort=2)  # the first round is for all, on a busy machine too
    for site in study.file.sites:
        policy = study.home(site).policy_path
        text = policy.read_text().replace("min_effective_cohort = 2.0", "min_effective_cohort = 1.0")
        policy.write_text(text.replace("min_cohort = 2", "min_cohort = 3") if site == "east" else text)
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
