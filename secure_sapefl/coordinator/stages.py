"""A study in which sites agree on a preparation before they train: two coordinators, one after the other.

Each site is given the first one's outcome before it hears of the second, whenever it comes. To the network both are
studies; what is written for one fits nowhere else.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.storage.parts import Parts

AGREEING: Final = "sites agree on a preparation"


class AnyCoordinator(Protocol):
    """What relays and a running study ask of one, or of two."""

    @property
    def finished(self) -> bool: ...

    def advance(self) -> None: ...

    def forget_nodes(self) -> None: ...

    def next_message(self, node: int) -> Parts | None: ...

    def receive(self, node: int, parts: Parts | None) -> None: ...

    def status(self) -> dict[str, Any]: ...


class Stages:
    """``begin`` makes the second coordinator, once the round of the first is closed: its deadlines begin then.
    ``about`` is what the study's own status says as long as there is none."""

    def __init__(self, first: Coordinator, begin: Callable[[], Coordinator], about: dict[str, Any]) -> None:
        self._first, self._begin, self._about = first, begin, about
        self._then: Coordinator | None = None
        self._asked: dict[int, Coordinator] = {}  # who wrote to a node last
        self.advance()

    @property
    def finished(self) -> bool:
        return self._then is not None and self._then.finished

    def advance(self) -> None:
        self._first.advance()
        if self._then is None and self._first.rounds.ended is not None:
            self._then = self._begin()
        if self._then is not None:
            self._then.advance()

    def forget_nodes(self) -> None:
        for one in (self._first, self._then):
            if one is not None:
                one.forget_nodes()

    def next_message(self, node: int) -> Parts | None:
        stage = self._then if self._first.has_released(node) else self._first
        parts = None if stage is None else stage.next_message(node)
        if stage is not None and parts is not None:
            self._asked[node] = stage
        return parts

    def receive(self, node: int, parts: Parts | None) -> None:
        self._asked[node].receive(node, parts)
        self.advance()

    def status(self) -> dict[str, Any]:
        if self._then is not None:
            return self._then.status() | {"stage": None}
        return self._first.status() | self._about | {"finished": False, "stage": AGREEING}
