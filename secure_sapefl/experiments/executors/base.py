"""Where the cells of an experiment are computed does not change a number."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from secure_sapefl.experiments.cells import Cell
from secure_sapefl.metrics import Array

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """A cell with what it needs of others: all that travels to wherever it is computed."""

    cell: Cell
    common: Array | None = None  # the common model that its sites begin with, where another run has trained it


class Executor(Protocol):
    def computed(self, compute: Callable[[Work], T], work: Sequence[Work]) -> Iterator[tuple[Work, T]]:
        """Each piece of work with what came of it, as they finish. ``compute`` is a function of a module."""
