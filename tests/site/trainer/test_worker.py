"""The trainer's process before any code is in it; what it does with code is in test_hostile.py and test_process.py."""

import os
import subprocess
import sys
from pathlib import Path

from tests.site.trainer.apart import told


def test_the_pipe_is_out_of_the_way_of_print() -> None:
    program = """
        from secure_sapefl.site.trainer import worker
        read, write = worker._pipe()
        print("lost")
        os.write(write, b"kept")
    """
    assert told(program) == "kept"


def test_it_ends_when_nobody_asks_any_more(tmp_path: Path) -> None:
    program = """
        from secure_sapefl.site.trainer import worker
        read, write = os.pipe()
        os.close(write)
        worker._exactly(read, 3)
        print("goes on")
    """
    assert told(program) == ""


def test_confinement_imports_nothing_heavy() -> None:
    """It happens before there are other threads, so before torch and numpy."""
    program = """
        import secure_sapefl.site.trainer.worker
        print([name for name in ("torch", "numpy", "tenseal", "pydantic") if name in sys.modules])
    """
    assert told(program) == "[]"


def test_a_stranger_cannot_start_it() -> None:
    command = [sys.executable, "-I", "-m", "secure_sapefl.site.trainer.worker", str(os.getpid() + 1), "/", "0"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.stdout == b""
