"""Bounds on a process, and what it ends with."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.site.trainer.apart import told


def test_nothing_is_written_to_a_file_and_memory_is_bounded(tmp_path: Path) -> None:
    program = """
        import resource, signal
        from secure_sapefl.site.trainer import limits
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits.bounded(own_user=True)
        print(tried(lambda: Path(sys.argv[1]).write_bytes(b"x")), resource.getrlimit(resource.RLIMIT_NPROC)[1] <= 256)
        try:
            bytearray(1 << 42)
        except MemoryError:
            print("MemoryError")
    """
    assert told(program, str(tmp_path / "file")) == "OSError True\nMemoryError"


def test_no_core_is_left_and_none_can_be_asked_for_again() -> None:
    program = """
        import resource
        from secure_sapefl.site.trainer import limits
        limits.no_core()
        print(resource.getrlimit(resource.RLIMIT_CORE))
    """
    assert told(program) == "(0, 0)"


def test_capabilities_are_gone() -> None:
    program = """
        from secure_sapefl.site.trainer import limits
        limits.no_new_privileges()
        limits.no_capabilities()
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"].strip())
    """
    assert told(program) == "0 0 1"


def test_a_process_that_is_not_looked_into_is_closed_to_its_own_user() -> None:
    program = """
        from secure_sapefl.site.trainer import limits
        limits.not_looked_into()
        print(os.stat("/proc/self/mem").st_uid)
    """
    assert told(program) == "0"


def test_a_trainer_ends_with_its_agent(tmp_path: Path) -> None:
    child = "from secure_sapefl.site.trainer import limits; import os, sys, time; limits.end_with(int(sys.argv[1])); "
    child += "print(os.getpid(), flush=True); time.sleep(600)"
    agent = (
        "import os, subprocess, sys; p = subprocess.Popen([sys.executable, '-I', '-c', sys.argv[1], str(os.getpid())], "
        "stdout=subprocess.PIPE); print(p.stdout.readline().decode(), flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", agent, child], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    end = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Not waiting to be buried, either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_trainer_whose_agent_has_gone_ends_at_once() -> None:
    program = """
        from secure_sapefl.site.trainer import limits
        limits.end_with(1 if os.getppid() != 1 else 2)
        print("goes on")
    """
    assert told(program) == ""
    assert os.getpid() > 1
