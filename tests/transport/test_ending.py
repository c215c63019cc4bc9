"""A program ends when its main thread does, with the code it meant, whatever other threads do."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from secure_sapefl.transport.ending import end_with

# What Flower's SuperNode does when two of its threads find at once that the SuperLink does not know it any more: the
# handler of the first SIGINT puts Python's own back, and the second then interrupts it. A thread goes on for ever.
FLOWER = """
import os, signal, sys, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
def handler(*_):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
signal.signal(signal.SIGINT, handler)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)
"""


def raising(error: BaseException) -> Callable[[], None]:
    def program() -> None:
        threading.Thread(target=time.sleep, args=(60,)).start()
        raise error

    return program


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (lambda: None, 0),
        (raising(SystemExit(7)), 7),
        (raising(SystemExit("why")), 1),
        (raising(SystemExit()), 0),
        (raising(KeyboardInterrupt()), 130),
        (raising(OSError("what Flower did not expect")), 1),
    ],
)
def test_the_code_is_the_programs_though_a_thread_goes_on(program: Callable[[], None], code: int) -> None:
    pid = os.fork()
    if pid == 0:
        end_with(program)
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert time.monotonic() - began < 50


def test_a_node_that_interrupts_itself_twice_is_gone(tmp_path: Path) -> None:
    program = tmp_path / "flower-supernode"
    program.write_text(f"#!{sys.executable}\n{FLOWER}")
    program.chmod(0o755)
    command = [sys.executable, "-m", "secure_sapefl.transport.ending", "flower-supernode", "--insecure"]
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert subprocess.run(command, env=environment, timeout=50, check=False).returncode == 130


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "secure_sapefl.transport.ending", "no-such-program"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, "no-such-program is not on the path" in done.stderr) == (1, True)
