"""The Unix socket between an agent, a site's or the coordinator's, and its relay: 1 byte status, then parts; an answer
the same way.

Who may connect is a matter of file modes (0600, or 0660 for a group the relay is in). Whoever does can hand in bytes;
what the bytes must be is for the agent to check. One that is slow to speak or to listen is left, so that it keeps
nobody else waiting for long.
"""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.errors import OutputFailed
from secure_sapefl.storage.parts import LARGEST, Parts, head_of, read_parts

_ANSWERED: Final = b"\x00"
_REFUSED: Final = b"\x01"
_POLL_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 120.0  # for all of a message to pass, one way
_LONGEST_PATH: Final = 100  # bytes; the kernel takes 108

Handler = Callable[[Parts], Parts]


class AgentSocket:
    """Answers one connection at a time: an agent does one thing at a time. ``largest`` is in bytes."""

    def __init__(
        self, path: Path, group: int | None = None, *, largest: int = LARGEST, patience: float = _PATIENCE_SECONDS
    ) -> None:
        self.path, self._largest, self._patience = path, largest, patience
        self._listener = _listening(path, group)
        self._stopped = Event()

    def serve(self, handle: Handler, between: Callable[[], None] = lambda: None) -> None:
        """Until `stop`; ``between`` is called several times a second, unless there is more to do.

        A handler's `FrameRejected` becomes a refusal; any other error ends the agent, loudly.
        """
        self._listener.settimeout(_POLL_SECONDS)
        try:
            with self._listener:
                while not self._stopped.is_set():
                    between()
                    with suppress(TimeoutError):
                        connection, _ = self._listener.accept()
                        with connection, suppress(ConnectionError):
                            self._converse(connection, handle)
        finally:
            self.path.unlink(missing_ok=True)

    def _converse(self, connection: socket.socket, handle: Handler) -> None:
        try:
            answer = handle(_receive(connection, self._largest, self._patience)[1])
        except FrameRejected:
            _send(connection, _REFUSED, (), self._patience)
        else:
            _send(connection, _ANSWERED, answer, self._patience)

    def stop(self) -> None:
        self._stopped.set()


def ask(path: Path, parts: Parts) -> Parts | None:
    """The agent's answer, None where it refuses; `OSError` where nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        _send(connection, _ANSWERED, parts, None)
        status, answer = _receive(connection, LARGEST, None)
        return answer if status == _ANSWERED else None


def _send(connection: socket.socket, status: bytes, parts: Parts, patience: float | None) -> None:
    wait = _waiting(connection, patience)
    for piece in (status + head_of(parts), *parts):
        wait()
        connection.sendall(piece)


def _receive(connection: socket.socket, largest: int, patience: float | None) -> tuple[bytes, Parts]:
    wait = _waiting(connection, patience)

    def exactly(count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            wait()
            piece = connection.recv(min(count - len(content), 1 << 20))
            if not piece:
                raise ConnectionResetError("the other end closed the socket")
            content += piece
        return bytes(content)

    return exactly(1), read_parts(exactly, largest)


def _waiting(connection: socket.socket, patience: float | None) -> Callable[[], None]:
    """To be called before each wait: all of them together last no longer than ``patience`` seconds."""
    if patience is None:
        return lambda: connection.settimeout(None)
    end = time.monotonic() + patience

    def wait() -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the other end is too slow")
        connection.settimeout(left)

    return wait


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
