"""The Unix socket between a site's agent and its relay: 1 byte status, then parts; an answer the same way.

Who may connect is a matter of file modes (0600, or 0660 for a group the relay is in). Whoever does can hand in bytes;
what the bytes must be is for the agent to check.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.errors import OutputFailed
from secure_sapefl.storage.parts import Parts, head_of, read_parts

_ANSWERED: Final = b"\x00"
_REFUSED: Final = b"\x01"
_POLL_SECONDS: Final = 0.2
_LONGEST_PATH: Final = 100  # bytes; the kernel takes 108

Handler = Callable[[Parts], Parts]


class AgentSocket:
    """Answers one connection at a time: a site computes one round at a time."""

    def __init__(self, path: Path, group: int | None = None) -> None:
        self.path = path
        self._listener = _listening(path, group)
        self._stopped = Event()

    def serve(self, handle: Handler) -> None:
        """Until `stop`. A handler's `FrameRejected` becomes a refusal; any other error ends the agent, loudly."""
        self._listener.settimeout(_POLL_SECONDS)
        try:
            with self._listener:
                while not self._stopped.is_set():
                    with suppress(TimeoutError):
                        connection, _ = self._listener.accept()
                        with connection, suppress(ConnectionError):
                            _converse(connection, handle)
        finally:
            self.path.unlink(missing_ok=True)

    def stop(self) -> None:
        self._stopped.set()


def ask(path: Path, parts: Parts) -> Parts | None:
    """The agent's answer, None where it refuses; `OSError` where nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        _send(connection, _ANSWERED, parts)
        status, answer = _receive(connection)
        return answer if status == _ANSWERED else None


def _converse(connection: socket.socket, handle: Handler) -> None:
    connection.settimeout(None)
    try:
        answer = handle(_receive(connection)[1])
    except FrameRejected:
        _send(connection, _REFUSED, ())
    else:
        _send(connection, _ANSWERED, answer)


def _send(connection: socket.socket, status: bytes, parts: Parts) -> None:
    connection.sendall(status + head_of(parts))
    for part in parts:
        connection.sendall(part)


def _receive(connection: socket.socket) -> tuple[bytes, Parts]:
    def exactly(count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            piece = connection.recv(min(count - len(content), 1 << 20))
            if not piece:
                raise ConnectionResetError("the other end closed the socket")
            content += piece
        return bytes(content)

    return exactly(1), read_parts(exactly)


def _listening(path: Path, group: int | None) -> socket.socket:
    """A socket that was private before anybody could connect to it."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise OutputFailed(f"The socket's path {path} is too long for the system; use a shorter folder.")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        if group is not None:
            os.chown(path, -1, group)
            path.chmod(0o660)
        listener.listen()
    except OSError as error:
        listener.close()
        raise OutputFailed(f"The agent cannot listen on {path}: {error.strerror}. Check the folder.") from None
    finally:
        os.umask(before)
    return listener
