"""Two coordinators one after the other: what a site is told first, and what a status says meanwhile."""

from collections.abc import Callable
from typing import Any

from secure_sapefl.coordinator.stages import AGREEING, Stages


class Scripted:
    """A coordinator that says its name; ``released`` are nodes that have everything."""

    def __init__(self, name: bytes) -> None:
        self.name, self.released, self.heard, self.ended, self.finished = name, set[int](), [], None, False
        self.rounds = self

    def advance(self) -> None: ...

    def forget_nodes(self) -> None:
        self.released.clear()

    def has_released(self, node: int) -> bool:
        return node in self.released

    def next_message(self, node: int) -> tuple[bytes]:
        return (self.name,)

    def receive(self, node: int, parts: tuple[bytes] | None) -> None:
        self.heard.append(node)

    def status(self) -> dict[str, Any]:
        return {"closed": 1, "finished": True, "who": self.name}


def staged() -> tuple[Stages, Scripted, Scripted, list[str]]:
    first, then, begun = Scripted(b"first"), Scripted(b"then"), list[str]()

    def begin() -> Any:
        begun.append("then")
        return then

    make: Callable[..., Stages] = Stages
    return make(first, begin, {"closed": 0, "rounds": 7}), first, then, begun


def test_a_site_hears_of_training_only_when_it_has_what_was_agreed() -> None:
    stages, first, then, begun = staged()
    assert stages.next_message(1) == (b"first",)
    first.released.add(1)
    assert stages.next_message(1) is None  # the others are still counting
    first.ended = 3.0
    stages.advance()
    stages.advance()
    assert begun == ["then"]
    assert stages.next_message(1) == (b"then",)
    assert stages.next_message(2) == (b"first",)  # late: it is given the outcome first
    stages.receive(1, None)
    stages.receive(2, None)
    assert (then.heard, first.heard) == ([1], [2])


def test_a_transport_that_begins_anew_begins_with_the_first() -> None:
    stages, first, _, _ = staged()
    first.ended = 3.0
    first.released.add(1)
    stages.advance()
    stages.forget_nodes()
    assert stages.next_message(1) == (b"first",)


def test_the_study_is_not_over_while_sites_agree() -> None:
    stages, first, then, _ = staged()
    assert stages.status() == {"closed": 0, "rounds": 7, "finished": False, "stage": AGREEING, "who": b"first"}
    first.ended = 3.0
    stages.advance()
    assert not stages.finished
    assert stages.status()["stage"] is None
    then.finished = True
    assert stages.finished
