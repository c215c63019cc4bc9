"""Runs cells that are not finished yet, several at a time, one core each."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from sapefl_crypto.processes import end_with_parent, without_main
from secure_sapefl.errors import SapeflError
from secure_sapefl.experiments.cells import Cell, CellResult, CellStore, run_cell
from secure_sapefl.experiments.common_models import common_of, path_of, run_at_home, train

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A cell was finished, or found finished."""

    cell: Cell
    result: CellResult
    stage: str
    done: int
    total: int
    found: bool
    seconds_left: float | None  # None before the first cell of this run is finished


OnStep = Callable[[Step], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    store: CellStore
    jobs: int
    on_step: OnStep = lambda _: None

    def run(self, cells: Iterable[Cell], stage: str) -> Mapping[str, CellResult]:
        """Results by digest; each is saved as soon as it is there."""
        wanted = list({cell.digest: cell for cell in cells}.values())
        results: dict[str, CellResult] = {}
        begun, computed = time.monotonic(), 0
        for cell, result, found in self._results(wanted):
            results[cell.digest] = result
            computed += not found
            left = len(wanted) - len(results)
            pace = (time.monotonic() - begun) / computed if computed else None
            self.on_step(
                Step(
                    cell=cell,
                    result=result,
                    stage=stage,
                    done=len(results),
                    total=len(wanted),
                    found=found,
                    seconds_left=None if pace is None else pace * left,
                )
            )
        return results

    def _results(self, cells: list[Cell]) -> Iterator[tuple[Cell, CellResult, bool]]:
        missing = []
        for cell in cells:
            finished = self.store.load(cell)
            if finished is None:
                missing.append(cell)
            else:
                yield cell, finished, True
        self._train_common_models(missing)
        for cell, result in _computed(partial(_run, self.store.folder), missing, self.jobs):
            self.store.save(cell, result)
            yield cell, result, False

    def _train_common_models(self, cells: list[Cell]) -> None:
        """First of all, and each once."""
        wanted = {common.digest: common for cell in cells if (common := common_of(cell)) is not None}
        missing = [common for common in wanted.values() if not path_of(common, self.store.folder).exists()]
        for _ in _computed(partial(_train, self.store.folder), missing, self.jobs):
            pass


def _run(folder: Path, cell: Cell) -> CellResult:
    common = common_of(cell)
    return run_cell(cell) if common is None else run_at_home(cell, path_of(common, folder))


def _train(folder: Path, common: Cell) -> None:
    train(common, path_of(common, folder))


def default_jobs() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _computed(compute: Callable[[Cell], T], cells: list[Cell], jobs: int) -> Iterator[tuple[Cell, T]]:
    """As they finish; in this process where there is nothing to do side by side."""
    processes = min(jobs, len(cells))
    if processes <= 1:
        yield from ((cell, compute(cell)) for cell in cells)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin)
    try:
        with without_main():
            running = {pool.submit(compute, cell): cell for cell in cells}
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise SapeflError(
            "A process that computed a cell was ended from outside, perhaps for lack of memory. Finished cells are "
            "kept: give the same command again, with fewer --jobs."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """End at once with Ctrl-C, and with the parent, however that one ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
