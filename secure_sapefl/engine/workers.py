"""Encryption in other processes while this one trains.

SEAL's Python calls hold the interpreter lock, so threads would not help. Workers are spawned (forking a process in
which torch has threads is unsafe), are handed the key once, over the pipe that starts them, and do not outlive the
process that handed it to them, however that one ends.
"""

from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import Protocol, Self

from sapefl_crypto import CohortKey
from sapefl_crypto.processes import end_with_parent, without_main
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.codec import Codec
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.study import Study

_codec: Codec


class Protector(Protocol):
    """Turns answers into uploads, now or soon."""

    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]": ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class InlineProtector:
    """In this process, at once."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]":
        done: Future[RoundUpload] = Future()
        try:
            done.set_result(protect(answer, self._codec, study, round_index))
        except Exception as error:
            done.set_exception(error)
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class ProcessProtector:
    """In ``workers`` other processes, each with its own copy of the cohort key."""

    def __init__(self, key: CohortKey, workers: int) -> None:
        secret = key.export_secret()
        self._pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_hold_key, initargs=(secret,))

    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]":
        with without_main():  # the pool starts a process when it gets something to do
            return self._pool.submit(_protect, answer, study, round_index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


def _hold_key(secret: bytes) -> None:
    global _codec
    end_with_parent()
    _codec = CkksCodec(CohortKey.from_secret(secret))


def _protect(answer: Answer, study: Study, round_index: int) -> RoundUpload:
    return protect(answer, _codec, study, round_index)
