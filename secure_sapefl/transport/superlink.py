"""The server's share of Flower: a SuperLink on loopback, the gate in front of it, and the one run that is executed.

SuperLink and ServerApp have a folder of their own (`relay.RelayFolder`) and run as another user where one is named.
What they hold there is theirs: a certificate for the way from the gate to the SuperLink, which is made anew each time
and is good for nothing else. The certificate that sites are shown stays with the gate.
"""

import re
import secrets
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sapefl_crypto.keys.certificates import make_certificates
from secure_sapefl.errors import BadInput
from secure_sapefl.storage.files import make_private_folder, write_private
from secure_sapefl.transport.coordinator_socket import SOCKET_VARIABLE
from secure_sapefl.transport.flower import (
    LOOPBACK,
    Child,
    FlowerFailed,
    Tls,
    free_port,
    run_once,
    superlink_command,
    wait_for_port,
    write_bundle,
)
from secure_sapefl.transport.relay import RelayFolder

_SECRET_BYTES: Final = 32


class SuperLink:
    """``own`` is a folder nobody else may enter: logs, and what `flwr` needs to talk to the SuperLink."""

    def __init__(self, near: RelayFolder, own: Path, *, tls: bool) -> None:
        self._near, self._home, self._bundle, self._own = near, own / "flower", own / "bundle", own
        self._port = free_port()
        self._inner = _inner_tls(near) if tls else None
        self._secret = near.path.absolute() / "secret"
        write_private(self._secret, secrets.token_bytes(_SECRET_BYTES))
        near.user.give(self._secret)
        write_bundle(self._bundle, self._home, self.address, self._inner)
        self.child = self._kept(superlink_command(self._port, self._inner, self._secret), "superlink.log", {})

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    def wait(self) -> None:
        wait_for_port(LOOPBACK, self._port, self.child)

    def gate(self, listener: socket.socket, tls: Tls | None) -> Child:
        """What others may reach; not started yet. It begins as this user, who may read the certificate's key."""
        command = [sys.executable, "-m", "secure_sapefl.transport.gate"]
        command += ["--listener", str(listener.fileno()), "--superlink", self.address]
        if tls is not None and self._inner is not None:
            command += ["--certificate", str(tls.certificate), "--key", str(tls.key)]
            command += ["--authority", str(self._inner.ca)]
        if self._near.user.uid is not None:
            command += ["--user", str(self._near.user.uid), "--group", str(self._near.user.gid)]
        return Child(command, self._home, self._own / "gate.log", pass_files=(listener.fileno(),))

    def admit(self, key: Path) -> None:
        """Let a node in that has the private half of ``key``."""
        run_once(["flwr", "supernode", "register", str(key)], self._home)

    def new_run(self) -> Child:
        """A run of the study, submitted; its ServerApp is not started yet, and holds the socket's path alone."""
        said = run_once(["flwr", "run", str(self._bundle), "--format", "json"], self._home)
        found = re.search(r'"run-id": "(\d+)"', said)
        if found is None:
            raise FlowerFailed(f"`flwr run` did not say which run it started: {said[-200:]}")
        command = [sys.executable, "-m", "secure_sapefl.transport.one_run", "--run", found[1]]
        command += ["--superlink", self.address, "--secret", str(self._secret)]
        if self._inner is not None:
            command += ["--authority", str(self._inner.ca)]
        return self._kept(command, "run.log", {SOCKET_VARIABLE: str(self._near.socket)})

    def _kept(self, command: list[str], log: str, environment: Mapping[str, str]) -> Child:
        user = self._near.user
        return Child(command, self._near.path / "flower", self._own / log, environment, user=user.uid, group=user.gid)


def _inner_tls(near: RelayFolder) -> Tls:
    folder = near.path.absolute() / "tls"
    shutil.rmtree(folder, ignore_errors=True)
    make_private_folder(folder)
    files = make_certificates(folder, [LOOPBACK])
    files.ca_key.unlink()
    for path in (files.ca, files.certificate, files.key):
        near.user.give(path)
    near.user.let_into(folder)
    return Tls(ca=files.ca, certificate=files.certificate, key=files.key)


def listening(host: str, port: int) -> socket.socket:
    """The socket others connect to, before anything is started."""
    bare = host.removeprefix("[").removesuffix("]")
    try:
        family = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((bare, port), family=family, backlog=128)
    except OSError as error:
        raise BadInput(
            f"The server cannot listen on {host}:{port}: {error.strerror}. Choose another --listen."
        ) from None
