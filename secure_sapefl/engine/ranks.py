"""One simulation over several processes, cards or machines, begun by `torchrun`: who does which part of the work, and
how the others come to know what came of it.

Every rank runs the same simulation in step with the others. Groups of sites are dealt out: a rank trains its groups,
encrypts what they send, and tells the others what their sites keep. Rank 0 alone is the server, and writes the run's
folder. The groups are those of one process, so the numbers are too.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self, TypeVar

from secure_sapefl.config import Config
from secure_sapefl.errors import BadInput

T = TypeVar("T")
Part = TypeVar("Part")


class Share(Protocol):
    """What came of a part of the work, wherever it was done."""

    def for_all(self) -> object:
        """What every rank has to know; it can be pickled."""

    def for_first(self) -> object:
        """What only the server is handed; it can be pickled."""

    @classmethod
    def heard(cls, for_all: object, for_first: object) -> Self:
        """The same on another rank; ``for_first`` is None on all but the first."""


Done = TypeVar("Done", bound=Share)


class Ranks(Protocol):
    @property
    def first(self) -> bool:
        """Whether the server is here."""

    @property
    def count(self) -> int: ...

    def map(self, work: Callable[[Part], Done], parts: Sequence[Part], kind: type[Done]) -> Iterator[Done]:
        """``work`` of all parts, in their order, each done by one rank."""

    def from_first(self, make: Callable[[], T]) -> T:
        """What rank 0 makes, on every rank."""


class Alone:
    """One process does everything."""

    first, count = True, 1

    def map(self, work: Callable[[Part], Done], parts: Sequence[Part], kind: type[Done]) -> Iterator[Done]:  # noqa: ARG002 - nothing is heard from others
        return map(work, parts)

    def from_first(self, make: Callable[[], T]) -> T:
        return make()


ALONE: Final = Alone()


class Group(Protocol):
    """How ranks reach each other; all of them call the same method at the same time."""

    rank: int
    count: int

    def all_gather(self, mine: object) -> list[Any]:
        """What each rank has, on every rank."""

    def gather(self, mine: object) -> list[Any]:
        """The same on the first rank; nothing on others."""

    def broadcast(self, mine: object) -> Any:
        """What the first rank has."""


class Together:
    """This process among others."""

    def __init__(self, group: Group) -> None:
        self._group, self.count, self.first = group, group.count, group.rank == 0

    def map(self, work: Callable[[Part], Done], parts: Sequence[Part], kind: type[Done]) -> Iterator[Done]:
        for start in range(0, len(parts), self.count):
            wave = parts[start : start + self.count]
            mine = work(wave[self._group.rank]) if self._group.rank < len(wave) else None
            for_all = self._group.all_gather(None if mine is None else mine.for_all())
            for_first = self._group.gather(None if mine is None else mine.for_first()) or [None] * self.count
            for place in range(len(wave)):
                yield kind.heard(for_all[place], for_first[place])

    def from_first(self, make: Callable[[], T]) -> T:
        made: T = self._group.broadcast(make() if self.first else None)
        return made


class TorchGroup:
    """The processes that `torchrun` has started."""

    def __init__(self) -> None:
        import torch
        from torch import distributed

        cards = torch.cuda.device_count()
        if cards:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % cards)
        distributed.init_process_group(_carrier(cards, has_nccl=distributed.is_nccl_available()))
        self._all, self.rank, self.count = distributed, distributed.get_rank(), distributed.get_world_size()

    def all_gather(self, mine: object) -> list[Any]:
        found: list[Any] = [None] * self.count
        self._all.all_gather_object(found, mine)
        return found

    def gather(self, mine: object) -> list[Any]:
        found: list[Any] = [None] * self.count if self.rank == 0 else []
        self._all.gather_object(mine, found or None)
        return found

    def broadcast(self, mine: object) -> Any:
        found = [mine]
        self._all.broadcast_object_list(found)
        return found[0]

    def close(self) -> None:
        self._all.destroy_process_group()


def _carrier(cards: int, *, has_nccl: bool) -> str:
    """NCCL does not let two processes share a card: gloo carries messages where there are too few of them, or none."""
    return "nccl" if has_nccl and 0 < int(os.environ["LOCAL_WORLD_SIZE"]) <= cards else "gloo"


@contextmanager
def ranks_here() -> Iterator[Ranks]:
    """Whoever `torchrun` has started this process beside; nobody otherwise.

    A rank that fails leaves at once, without goodbye: `torchrun` ends the others, which wait for it.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield ALONE
        return
    group = TorchGroup()
    yield Together(group)
    group.close()


def require_divisible(config: Config, ranks: Ranks) -> None:
    """Refuse what only one process can do, before anything begins."""
    if ranks.count == 1:
        return
    held_by_one = {
        "--keys joint (the keys of a round are not copied to another process)": config.keys == "joint",
        "--late-clients (they join the server's process)": config.late_clients > 0,
        "--dp-ledgers (one process holds a ledger)": config.dp_ledgers is not None,
    }
    for what, asked in held_by_one.items():
        if asked:
            raise BadInput(f"A simulation over {ranks.count} ranks has no {what}. Leave it out, or leave out torchrun.")
