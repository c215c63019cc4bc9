"""More cores: SEAL's Python calls hold the interpreter lock, so only processes help, not threads.

Workers are spawned (forking a process in which torch has threads is unsafe), are handed the key once, over the pipe
that starts them, not by argument list, environment or disk, and do not outlive the process that handed it to them. A
vector travels by pickle; that costs a hundredth of encrypting it, so shared memory would buy nothing.
"""

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sapefl_crypto.cohort import CohortKey
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.processes import end_with_parent, without_main
from sapefl_crypto.secret import Guarded

P = ParamSpec("P")
T = TypeVar("T")


class KeyPool(Guarded):
    """``workers`` processes, each with its own copy of a cohort key.

    with KeyPool(key, workers=4) as pool:
        frame = pool.submit(CohortKey.encrypt, vector, study="s", round_index=0, sender="a")   # train on meanwhile
        send(frame.result())
    """

    def __init__(self, key: CohortKey, workers: int) -> None:
        if workers < 1:
            raise ValueRejected(f"A pool of {workers} workers cannot work; choose at least 1.")
        secret = key.export_secret()
        self._executor = ProcessPoolExecutor(workers, get_context("spawn"), _receive_key, (secret,))

    def submit(self, work: Callable[Concatenate[CohortKey, P], T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """``work(key, ...)`` in a worker; ``work`` is a function of a module, not of a script."""
        with without_main():  # the pool starts a process when it gets something to do
            return self._executor.submit(_with_key, work, args, kwargs)

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# In the workers. One process serves one key, so module state is that process's own.

_key: CohortKey


def _receive_key(secret: bytes) -> None:
    global _key
    end_with_parent()
    _key = CohortKey.from_secret(secret)


def _with_key(work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    return work(_key, *args, **kwargs)
