"""Runs cells that are not finished yet."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from secure_sapefl.experiments.cells import Cell, CellResult, CellStore, run_cell
from secure_sapefl.experiments.common_models import common_of, keep, path_of, read, run_at_home, train
from secure_sapefl.experiments.executors.base import Executor, Work
from secure_sapefl.metrics import Array


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
    executor: Executor
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
        commons = self._common_models(missing)
        work = [Work(cell, commons.get(cell.digest)) for cell in missing]
        for one, result in self.executor.computed(_run, work):
            self.store.save(one.cell, result)
            yield one.cell, result, False

    def _common_models(self, cells: list[Cell]) -> dict[str, Array]:
        """By the digests of the cells that begin with one; each is trained once, first of all."""
        wanted = {cell.digest: common for cell in cells if (common := common_of(cell)) is not None}
        paths = {common.digest: path_of(common, self.store.folder) for common in wanted.values()}
        missing = {common.digest: Work(common) for common in wanted.values() if not paths[common.digest].exists()}
        for work, theta in self.executor.computed(_train, list(missing.values())):
            keep(theta, paths[work.cell.digest])
        found = {digest: read(path) for digest, path in paths.items()}
        return {digest: found[common.digest] for digest, common in wanted.items()}


def _run(work: Work) -> CellResult:
    return run_cell(work.cell) if work.common is None else run_at_home(work.cell, work.common)


def _train(work: Work) -> Array:
    return train(work.cell)
