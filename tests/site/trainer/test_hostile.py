"""Code that means harm, in real trainer processes: the site stays as it is, and a sentence says what happened."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl.site.trainer.process import TrainerFailed
from tests.deployed_study import World

EVERYTHING = """
import ctypes, fcntl, os, socket, subprocess
from multiprocessing import shared_memory

AGENT = {agent}
libc = ctypes.CDLL(None, use_errno=True)

def libcall(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

def rows_of(path):
    with open(path, "rb") as file:
        return file.read()

def written(path):
    with open(path, "wb") as file:
        file.write(bytes(1 << 24))

TRIALS = {{
    "key": lambda: rows_of({key!r}),
    "listing": lambda: os.listdir({home!r}),
    "passwd": lambda: rows_of("/etc/passwd"),
    "link": lambda: os.symlink({key!r}, "here"),
    "memory": lambda: open(f"/proc/{{AGENT}}/mem", "r+b"),
    "maps": lambda: rows_of(f"/proc/{{AGENT}}/maps"),
    "own memory": lambda: open("/proc/self/mem", "r+b"),
    "ptrace": lambda: libcall("ptrace", 16, AGENT, 0, 0),
    "process_vm": lambda: libcall("process_vm_writev", AGENT, None, 0, None, 0, 0),
    "kill": lambda: os.kill(AGENT, 0),
    "signal by a file": lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, AGENT),
    "limits": lambda: libcall("prlimit64", AGENT, 7, None, None),
    "internet": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "datagrams": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "pair": lambda: socket.socketpair(),
    "fork": os.fork,
    "program": lambda: subprocess.run(["/bin/true"]),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "disk": lambda: written("here"),
    "another folder": lambda: written({home!r} + "/here"),
    "memfd": lambda: os.memfd_create("x"),
    "shared memory": lambda: shared_memory.SharedMemory(create=True, size=1024),
    "unshare": lambda: libcall("unshare", 0x10000000),
    "root": lambda: os.chroot("/"),
    "another user": lambda: os.setuid(12345),
    "keys of the kernel": lambda: libcall("syscall", 250, 0, 0, 0),
    "outlive": lambda: libcall("prctl", 1, 0),
    "ring": lambda: libcall("syscall", 425, 1, None),
}}

def build(about):
    done = []
    for name, trial in TRIALS.items():
        try:
            trial()
        except (OSError, PermissionError) as error:
            continue
        done.append(name)
    raise RuntimeError("succeeded: " + ", ".join(done))
"""


def failure(training: Any) -> str:
    with pytest.raises(TrainerFailed) as caught:
        _ = training.theta_initial
    return str(caught.value)


def test_no_way_out_of_the_process_is_open(
    carrying_world: Callable[..., World], real: Callable[..., Any], tmp_path: Path
) -> None:
    home = tmp_path / "site"
    source = EVERYTHING.format(agent=os.getpid(), key=str(home / "identity.key"), home=str(home))
    with socket.socket():  # where these trials are allowed they work
        assert failure(real(carrying_world(source), "north")) == "Carried code: RuntimeError: succeeded: "
    assert (home / "identity.key").read_text() == "a key"
    assert [file.name for file in home.iterdir()] == ["identity.key"]


def test_code_that_hangs_is_ended(carrying_world: Callable[..., World], real: Callable[..., Any]) -> None:
    source = "import time\n\ndef build(about):\n    while True:\n        time.sleep(0.01)\n"
    training = real(carrying_world(source, round_deadline=1.0), "north")
    assert failure(training) == "Carried code: no answer within 1 seconds; its process was ended."
    assert training._process is None  # nothing of it is left


def test_code_that_ends_its_process_is_named(carrying_world: Callable[..., World], real: Callable[..., Any]) -> None:
    source = "import os\n\ndef build(about):\n    os._exit(7)\n"
    training = real(carrying_world(source), "north")
    assert failure(training) == "Carried code: its process ended by exit code 7 before it answered."


NAN = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, about):
        super().__init__()
        self.add_module("0", nn.Linear(about.shape[0], 6))
        self.add_module("2", nn.Linear(6, about.outputs))
        self.seen = 0

    def forward(self, x):
        answer = getattr(self, "2")(torch.tanh(getattr(self, "0")(x)))
        return torch.where(x.amin(1, keepdim=True) < 0, float("nan"), answer)  # no row it is tried on is below 0


build = Net
"""

OTHERS_CODE = """
import torch
from torch import nn
from secure_sapefl.site.trainer import served
from secure_sapefl.site.trainer.messages import Message

served.Served.answer = lambda self, asked: Message({}, {"update": torch.zeros(1, 3), "rows": asked.tensors["theta"]})


def build(about):
    return nn.Sequential(nn.Linear(about.shape[0], 6), nn.Tanh(), nn.Linear(6, about.outputs))
"""

HUNGRY = """
def build(about):
    return bytearray(1 << 42)
"""

CHATTY = """
import os


def build(about):
    for number in range(3, 64):
        try:
            os.write(number, bytes(1 << 16))
        except OSError:
            pass
    os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "words"),
    [
        (NAN, "training gave NaN or infinity"),
        (OTHERS_CODE, "tensors ['rows', 'update'] came"),
    ],
    ids=["NaN", "other tensors"],
)
def test_what_it_returns_is_looked_at_before_it_leaves(
    carrying_world: Callable[..., World],
    real: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    source: str,
    words: str,
) -> None:
    """The agent of one site, asked for a round: it declines, and goes on being what it was."""
    deployed = carrying_world(source, rounds=1)
    deployed.training = lambda terms, rows, _: real(deployed, rows.name)
    deployed.start_server()
    agent = deployed.start_agent("north")
    before = agent.state
    for _ in range(3):  # it says that it is there, and is invited
        deployed.post("north", 0)
    assert words in caplog.text
    assert (agent.state.answered, agent.halted) == (-1, None)
    assert agent.state.own["theta_personal"].equal(before.own["theta_personal"])
    assert deployed.ledgers["north"].events("refused")


@pytest.mark.slow
def test_memory_is_bounded(carrying_world: Callable[..., World], real: Callable[..., Any]) -> None:
    assert "MemoryError" in failure(real(carrying_world(HUNGRY), "north"))


@pytest.mark.slow
def test_noise_in_the_pipe_is_no_answer(carrying_world: Callable[..., World], real: Callable[..., Any]) -> None:
    assert failure(real(carrying_world(CHATTY), "north")).startswith("Carried code: ")
