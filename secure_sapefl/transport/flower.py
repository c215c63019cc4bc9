"""Flower's programs as child processes: how they are called, where they keep their files, how they end with us.

Flower 1.41 has no supported way to be started inside another process. Its programs are told to stay offline, and each
instance gets a home of its own, so that several on one machine do not meet.
"""

import ctypes
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from secure_sapefl.errors import OutputFailed, SapeflError
from secure_sapefl.storage.rotation import rotate_open

_log = logging.getLogger(__name__)
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG, <linux/prctl.h>
_LIBC: Final = ctypes.CDLL(None)
_OURS: Final = "SAPEFL_"
_STOP_SECONDS: Final = 5.0
_CALL_SECONDS: Final = 300.0
_LAST_WORDS: Final = 400  # characters
LOOPBACK: Final = "127.0.0.1"
_BUNDLE: Final = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "sapefl-carrier"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "sapefl"

[tool.flwr.app.components]
serverapp = "secure_sapefl.transport.server_app:app"
clientapp = "secure_sapefl.transport.relay_app:app"
"""


class FlowerFailed(SapeflError):
    """A program of Flower's ended, or did not answer; its log says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Paths of PEM files. Sites need the CA's certificate alone."""

    ca: Path
    certificate: Path | None = None
    key: Path | None = None


def environment(home: Path) -> dict[str, str]:
    """Flower's own files under ``home``, its programs on the path, nothing sent to anybody else.

    Of our own variables none: one may hold a passphrase, and a relay is to know nothing.
    """
    programs = str(Path(sys.executable).parent)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {
        **inherited,
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "PATH": programs + os.pathsep + os.environ.get("PATH", ""),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }


def superlink_command(port: int, tls: Tls | None, secret: Path) -> list[str]:
    """On loopback, behind the gate. It starts no app: whoever does proves with ``secret`` that it may.

    Over TLS, nodes prove who they are; Flower cannot check them without.
    """
    command = ["flower-superlink", "--host", LOOPBACK, "--port", str(port), "--disable-runtime-dependency-installation"]
    command += ["--isolation", "process", "--superexec-auth-secret-file", str(secret)]
    if tls is None:
        return [*command, "--insecure"]
    command += ["--ssl-ca-certfile", str(tls.ca), "--ssl-certfile", str(tls.certificate), "--ssl-keyfile", str(tls.key)]
    return [*command, "--enable-supernode-auth"]


def relay_command(server: str, port: int, agent: Path, tls: Tls | None, node_key: Path | None) -> list[str]:
    """The SuperNode's options, to a process of ours that starts it."""
    command = [sys.executable, "-m", "secure_sapefl.transport.relay_node", "--superlink", server, "--port", str(port)]
    command += ["--node-config", f'socket="{agent}"']
    if tls is None:
        return [*command, "--insecure"]
    command += ["--root-certificates", str(tls.ca)]
    return command if node_key is None else [*command, "--auth-supernode-private-key", str(node_key)]


def write_bundle(folder: Path, home: Path, server: str, tls: Tls | None) -> None:
    """The app Flower carries to the nodes, which only names installed modules; and where `flwr` finds the SuperLink."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(_BUNDLE)
    secure = "insecure = true" if tls is None else f'root-certificates = "{tls.ca}"'
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "study"\n\n[superlink.study]\naddress = "{server}"\n{secure}\n'
    )


def run_once(command: Sequence[str], home: Path) -> str:
    """A short call of Flower's command line; what it printed, or `FlowerFailed` with its last words."""
    try:
        done = subprocess.run(  # noqa: S603 - a program of Flower's, with our own arguments
            command, env=environment(home), capture_output=True, text=True, check=False, timeout=_CALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise FlowerFailed(f"`{' '.join(command[:3])}` did not end within {_CALL_SECONDS:g} seconds.") from None
    said = " ".join(re.findall(r"[!-~]+", done.stdout + done.stderr))  # without the boxes it draws
    if done.returncode:
        raise FlowerFailed(f"`{' '.join(command[:3])}` failed ({done.returncode}): {said[-_LAST_WORDS:]}")
    return said


@dataclass(slots=True)
class Child:
    """A program that is kept running: started again with growing pauses when it ends, ended when we end."""

    command: Sequence[str]
    home: Path
    log: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    group: int | None = None
    pass_files: Sequence[int] = ()  # open files it inherits, by descriptor
    restarts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _not_before: float = 0.0
    _started: float = 0.0

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        try:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(  # noqa: S603 - a program of Flower's, with our own arguments
                    self.command,
                    env={**environment(self.home), **self.extra},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    preexec_fn=end_with_parent,
                    pass_fds=self.pass_files,
                    user=self.user,
                    group=self.group,
                    extra_groups=None if self.user is None else (),
                )
        except OSError as error:
            whose = "" if self.user is None else ", where the relay's user may run it"
            raise OutputFailed(
                f"{self.command[0]} cannot be started: {error.strerror}. Is Flower installed{whose}?"
            ) from None
        self._started = time.monotonic()

    def keep_running(self) -> bool:
        """To be called every now and then. True where it had ended and was started again."""
        rotate_open(self.log)
        if self.running:
            return False
        now = time.monotonic()
        if self._process is not None:
            _log.warning(
                "a program of Flower's ended", extra={"program": self.command[0], "code": self._process.returncode}
            )
            calm = now - self._started > 60
            self.restarts = 1 if calm else self.restarts + 1
            self._not_before = now + min(2.0 ** (self.restarts - 1), 15.0)
            self._process = None
        if now < self._not_before:
            return False
        self.start()
        return True

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def end_with_parent() -> None:
    """In the child, before it becomes Flower: the kernel ends it when the thread that started it ends."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def free_port(host: str = LOOPBACK) -> int:
    """A port nobody uses now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def listens(host: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


def wait_for_port(host: str, port: int, child: Child, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        child.keep_running()
        if listens(host, port):
            return
        time.sleep(0.2)
    raise FlowerFailed(f"{child.command[0]} does not listen on {host}:{port}; see {child.log}.")
