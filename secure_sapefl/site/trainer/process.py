"""The agent's end of the pipe: a trainer process, what keeps it in, and how long it may take.

Nothing is inherited: no environment, no open file but the pipe, an empty folder to be in. What carried code prints goes
nowhere. Its process ends with the agent's, and whenever it is late or sends what nobody asked for.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from sapefl_crypto.errors import FrameRejected
from secure_sapefl.errors import SapeflError
from secure_sapefl.plain_text import sentence
from secure_sapefl.site.trainer.messages import Message, read_message
from secure_sapefl.storage.parts import LARGEST
from secure_sapefl.transport.users import OtherUser

WORKER: Final = "secure_sapefl.site.trainer.worker"
_START_SECONDS: Final = 600.0  # until it stands confined, with our own libraries alone
_BLOCK: Final = 1 << 20


class TrainerFailed(SapeflError):
    """Carried code did not do what it was asked to. The sentence may hold its own words: for the site's log alone."""


class TrainerProcess:
    """One process, started and confined; ``held`` is what holds of `confinement.MEANS`."""

    def __init__(self, kept: Path, user: OtherUser) -> None:
        self._empty = tempfile.TemporaryDirectory(prefix="sapefl-trainer-")
        Path(self._empty.name).chmod(0o755)
        self._process = self._started(kept, user)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        for end in (self._to, self._from):
            os.set_blocking(end, False)
        try:
            self.held = tuple(map(str, self._answer(_Until(_START_SECONDS), 0).words.get("held", ())))
        except TrainerFailed:
            self.close()
            raise TrainerFailed(f"The trainer's process did not begin. Can its user run {sys.executable}?") from None

    def _started(self, kept: Path, user: OtherUser) -> subprocess.Popen[bytes]:
        own_user = user.uid is not None
        try:
            return subprocess.Popen(  # noqa: S603 - this interpreter, with our own arguments
                [sys.executable, "-I", "-m", WORKER, str(os.getpid()), str(kept.absolute()), str(int(own_user))],
                env={},
                cwd=self._empty.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                user=user.uid,
                group=user.gid,
                extra_groups=() if own_user else None,
            )
        except OSError as error:
            self._empty.cleanup()
            raise TrainerFailed(f"No trainer process can be started: {error.strerror}.") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, message: Message, *, seconds: float, largest: int = LARGEST) -> Message:
        """Its answer, of at most ``largest`` bytes of tensors; `TrainerFailed`, and no process, where there is none."""
        until = _Until(seconds)
        try:
            self._send(message.to_bytes(), until)
            return self._answer(until, largest)
        except TrainerFailed:
            self.close()
            raise

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                with suppress(OSError):
                    end.close()
        self._empty.cleanup()

    def _answer(self, until: "_Until", largest: int) -> Message:
        try:
            answer = read_message(lambda count: self._exactly(count, until), largest)
        except FrameRejected as error:
            raise TrainerFailed(f"Carried code: {error}.") from None
        if "error" in answer.words:
            raise TrainerFailed(f"Carried code: {sentence(answer.words['error'])}")
        return answer

    def _send(self, content: bytes, until: "_Until") -> None:
        left = memoryview(content)
        while left:
            until.ready(self._to, select.POLLOUT)
            try:
                left = left[os.write(self._to, left[:_BLOCK]) :]
            except BrokenPipeError:
                raise TrainerFailed(self._ended()) from None

    def _exactly(self, count: int, until: "_Until") -> bytes:
        content = bytearray()
        while len(content) < count:
            until.ready(self._from, select.POLLIN)
            piece = os.read(self._from, min(count - len(content), _BLOCK))
            if not piece:
                raise TrainerFailed(self._ended())
            content += piece
        return bytes(content)

    def _ended(self) -> str:
        """By a signal where it did more than its limits allow, such as writing to a file."""
        code = self._process.wait()
        by = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"Carried code: its process ended by {by} before it answered."


class _Until:
    """A span of time that all waits together must not exceed."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def ready(self, end: int, event: int) -> None:
        poll = select.poll()
        poll.register(end, event)
        if not poll.poll(max(0.0, 1000 * (self._end - time.monotonic()))):
            raise TrainerFailed(f"Carried code: no answer within {self._seconds:g} seconds; its process was ended.")
