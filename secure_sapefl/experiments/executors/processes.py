"""Cells in this process, or in several beside it."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from sapefl_crypto.processes import end_with_parent, without_main
from secure_sapefl.errors import SapeflError
from secure_sapefl.experiments.executors.base import Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """So many at a time, one core each; in this process where there is nothing to do side by side."""

    jobs: int

    def computed(self, compute: Callable[[Work], T], work: Sequence[Work]) -> Iterator[tuple[Work, T]]:
        processes = min(self.jobs, len(work))
        if processes <= 1:
            yield from ((one, compute(one)) for one in work)
            return
        pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin)
        try:
            with without_main():
                running = {pool.submit(compute, one): one for one in work}
            for future in as_completed(running):
                yield running.pop(future), future.result()
        except BrokenProcessPool:
            raise SapeflError(
                "A process that computed a cell was ended from outside, perhaps for lack of memory. Finished cells are "
                "kept: give the same command again, with fewer --jobs."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def default_jobs() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    """End at once with Ctrl-C, and with the parent, however that one ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
