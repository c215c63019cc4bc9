"""Fifty sites, each an agent and a relay of its own, on one machine; and what the server needs for them."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SITES = int(os.environ.get("SAPEFL_LOAD_SITES", "50"))
ROUNDS = 3
AT_ONCE = 6  # sites that start, or are asked, at the same time: each is some seconds of work for Flower's programs


def memory_of(pid: int) -> int:
    """Most bytes a process ever held (VmHWM), 0 where it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return 1024 * int(lines[0].split()[1]) if lines else 0


def fork_site(study: Any, site: str) -> int:
    """A site as a process of its own that shares this one's imported code; 50 copies of torch would not fit."""
    pid = os.fork()
    if pid:
        return pid
    log = os.open(study.folder / f"{site}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 1
    os.nice(10)  # the server would have a machine of its own
    try:
        from secure_sapefl.site.runner import SiteSettings, run_site

        settings = SiteSettings(
            study=study.folder / "study.toml",
            home=study.folder / site,
            server=f"127.0.0.1:{study.port}",
            run=study.folder / f"{site}.run",
            tls=None,
        )
        run_site(settings, None, lambda: False)
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def heard_from(study: Any) -> int:
    return sum(site["seconds_since_heard"] is not None for site in study.status()["sites"])


@pytest.mark.slow
@pytest.mark.skipif(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 16 << 30, reason="needs 16 GB")
def test_fifty_sites_finish_three_rounds(deploy: Callable[..., Any], tmp_path: Path) -> None:
    import secure_sapefl.site.runner  # noqa: F401 - imported once, before forking

    os.environ["OMP_NUM_THREADS"] = "1"
    rows = tmp_path / "rows.csv"
    lines = [f"{i % 7 - 3},{i % 5 - 2},{i % 3 - 1},{i % 2},{'yes' if i % 7 > 3 else 'no'}" for i in range(40)]
    rows.write_text("\n".join(["x0,x1,x2,x3,y", *lines]) + "\n")
    files = {f"site{number:02d}": rows for number in range(SITES)}
    study = deploy(files, tls=False, rounds=ROUNDS, peers_per_client=3, min_cohort=SITES * 4 // 5, round_deadline=900.0)
    start = time.monotonic()
    study.start_server("--at-once", str(AT_ONCE))
    study.wait_for(lambda: "a run of the study was started" in (study.folder / "server.log").read_text())
    sites, peak = [], {"server start": 0, "transport.one_run": 0, "flower-superlink": 0, "transport.gate": 0}
    try:
        for site in study.file.sites:
            sites.append(fork_site(study, site))
            study.wait_for(lambda: len(sites) - heard_from(study) < AT_ONCE)
        print(f"\nall {SITES} were heard from after {time.monotonic() - start:.0f} s")
        while study.processes["server"].poll() is None:
            for program in peak:
                own = [study.processes["server"].pid] if program == "server start" else study.under("server", program)
                peak[program] = max([peak[program], *map(memory_of, own)])
            time.sleep(2)
    finally:
        if study.processes["server"].poll() != 0:
            for pid in sites:
                os.kill(pid, signal.SIGKILL)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in sites]
    took = time.monotonic() - start
    status = study.status()
    print(
        f"\nload: {SITES} sites, {ROUNDS} rounds, {took:.0f} s; peak MB: "
        + ", ".join(f"{name} {size / 1e6:.0f}" for name, size in peak.items())
        + f"; children's largest {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3:.0f}"
    )
    assert study.processes["server"].returncode == 0, study.report()[-3000:]
    assert codes == [0] * SITES
    assert status["closed"] == ROUNDS
    assert all(site["absorbed"] == ROUNDS for site in status["sites"])
