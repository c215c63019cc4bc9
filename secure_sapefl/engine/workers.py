"""Encryption in other processes (`sapefl_crypto.KeyPool`) while this one trains."""

from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager

from sapefl_crypto import CohortKey, KeyPool
from secure_sapefl.protocol.answer import Answer, protect
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.study import Study

Protect = Callable[[Answer, Study, int], RoundUpload]
"""An answer in this study and round, as it leaves its site."""


class Protector(AbstractContextManager["Protector"]):
    """Turns answers into uploads, now or soon."""

    @abstractmethod
    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]": ...

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""


class InlineProtector(Protector):
    """In this process, at once."""

    def __init__(self, protect: Protect) -> None:
        self._protect = protect

    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]":
        done: Future[RoundUpload] = Future()
        try:
            done.set_result(self._protect(answer, study, round_index))
        except Exception as error:
            done.set_exception(error)
        return done


class ProcessProtector(Protector):
    """In ``workers`` other processes, each with its own copy of the cohort key."""

    def __init__(self, key: CohortKey, workers: int) -> None:
        self._pool = KeyPool(key, workers)

    def submit(self, answer: Answer, study: Study, round_index: int) -> "Future[RoundUpload]":
        return self._pool.submit(_protect, answer, study, round_index)

    def __exit__(self, *_: object) -> None:
        self._pool.close()


def _protect(key: CohortKey, answer: Answer, study: Study, round_index: int) -> RoundUpload:
    return protect(answer, CkksCodec(key), study, round_index)
