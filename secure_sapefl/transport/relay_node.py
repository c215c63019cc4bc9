"""The relay's own process: Flower's SuperNode below it, and every message carried by a fork of it.

Flower's SuperExec starts a program for each message, which imports Flower for two seconds of processor time before it
carries anything. This takes its place: Flower is imported once, and a fork is ready at once. The SuperNode gives its
tasks to nobody else on the machine, for only this process knows the secret that they made out.
"""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import httpx
from flwr.supercore.constant import TaskType
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.cli.flwr_clientapp import flwr_clientapp

import secure_sapefl.transport.relay_app  # noqa: F401 - what a fork is going to need
from secure_sapefl.transport.ending import end_with
from secure_sapefl.transport.flower import LOOPBACK, end_with_parent
from secure_sapefl.transport.tasks import PAUSE_SECONDS, next_task, task_list

_SECRET_BYTES: Final = 32


def main(arguments: Sequence[str] | None = None) -> None:
    """Takes the SuperNode's options, and ends when it ends, with its exit code; above 128 where a signal did."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="secure_sapefl.transport.relay_node", add_help=False)
    parser.add_argument("--port", type=int, required=True)
    address = f"{LOOPBACK}:{parser.parse_known_args(given)[0].port}"
    secret = secrets.token_bytes(_SECRET_BYTES)
    node = _started(given, secret)
    signal.signal(signal.SIGTERM, lambda *_: node.terminate())
    forks = Forks(address)
    carry(task_list(address, secret), lambda: node.poll() is None, forks.start)
    code = node.wait()
    sys.exit(code if code >= 0 else 128 - code)


def _started(options: Sequence[str], secret: bytes) -> subprocess.Popen[bytes]:
    """The secret goes through a pipe: it lies in no file, and stands in no command line."""
    reading, writing = os.pipe()
    os.write(writing, secret)
    os.close(writing)
    ours = ["--host", LOOPBACK, "--isolation", "process", "--superexec-auth-secret-file", f"/dev/fd/{reading}"]
    try:
        return subprocess.Popen(  # noqa: S603 - a program of Flower's, with our own arguments
            [sys.executable, "-m", "secure_sapefl.transport.attention", "flower-supernode", *options, *ours],
            pass_fds=(reading,),
            preexec_fn=end_with_parent,
        )
    finally:
        os.close(reading)


def carry(client: RuntimeHttpClient, running: Callable[[], bool], start: Callable[[str], None]) -> None:
    """Start whatever the SuperNode has to be carried, as long as it runs. Before it listens there is nothing."""
    while running():
        try:
            found = next_task(client, TaskType.CLIENT_APP)
        except httpx.HTTPError:
            found = None
        if found is None:
            time.sleep(PAUSE_SECONDS)
        else:
            start(found.token)


class Forks:
    """One for each message under way."""

    def __init__(self, address: str) -> None:
        self._address, self._alive = address, set[int]()

    def start(self, token: str) -> None:
        self._alive = {pid for pid in self._alive if os.waitpid(pid, os.WNOHANG) == (0, 0)}
        parent = str(os.getpid())
        pid = os.fork()
        if pid == 0:
            become_clientapp(
                ["--runtime-api-address", self._address, "--token", token, "--parent-pid", parent, "--insecure"]
            )
        self._alive.add(pid)


def become_clientapp(options: Sequence[str]) -> NoReturn:
    """In the fork. What the parent has open is the parent's: nothing of it is closed or flushed here."""
    end_with_parent()
    sys.argv = ["flwr-clientapp", *options]
    end_with(flwr_clientapp)


if __name__ == "__main__":
    main()
