"""How messages are carried: from the coordinator's socket through a Grid that keeps them in a list."""

from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

import pytest
from flwr.app import Error, Message
from flwr.supercore.task_identity import TaskIdentity

from secure_sapefl.coordinator.relay_requests import RelayRequests
from secure_sapefl.transport import server_app
from secure_sapefl.transport.agent_socket import AgentSocket
from secure_sapefl.transport.coordinator_socket import CoordinatorSession
from secure_sapefl.transport.flower_message import content_of, parts_of

BuildWorld = Callable[..., Any]
FIRST_STRANGER = 1000


class ListGrid:
    """Nodes are numbered like the world's sites, and before them ``strangers`` that never answer. ``lost`` are message
    numbers for which an error comes back."""

    def __init__(self, world: Any, lost: Iterable[int] = (), refused: Iterable[int] = (), strangers: int = 0) -> None:
        self.world, self.lost, self.refused, self.strangers = world, set(lost), set(refused), strangers
        self.waiting: dict[str, Message] = {}
        self.pushed, self.most, self.asked = 0, 0, list[int]()

    def get_node_ids(self) -> Iterable[int]:
        sites = range(len(self.world.file.sites))
        return [*(FIRST_STRANGER + number for number in range(self.strangers)), *sites]

    def push_messages(self, messages: Iterable[Message]) -> list[str | None]:
        (message,) = messages
        self.pushed += 1
        if self.pushed in self.refused:
            return [None]
        name = str(self.pushed)
        message.metadata.__dict__["_message_id"] = name  # as Flower's grid does
        self.waiting[name] = message
        self.most = max(self.most, len(self.waiting))
        return [name]

    def pull_messages(self, names: Iterable[str]) -> list[Message]:
        self.asked.append(len(names := list(names)))
        return [reply for name in names for reply in self._replies(name)]

    def _replies(self, name: str) -> list[Message]:
        if self.waiting[name].metadata.dst_node_id >= FIRST_STRANGER:
            return []
        message = self.waiting.pop(name)
        if int(name) in self.lost:
            return [Message(Error(0, "no such node"), reply_to=message)]
        parts = parts_of(message)
        assert parts is not None
        site = self.world.file.sites[message.metadata.dst_node_id]
        return [Message(content_of(self.world.agents[site].answer(parts)), reply_to=message)]


@pytest.fixture
def carried(world: BuildWorld, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ListGrid]:
    def carry(at_once: int | None, **faults: Any) -> ListGrid:
        study = world(rounds=2)
        study.start_all()
        grid = ListGrid(study, **faults)

        def pass_time(_: float) -> None:
            study.clock.now += 5
            assert study.clock.now < 10_000, "the study does not end"

        monkeypatch.setattr(server_app.time, "sleep", pass_time)
        for name in ("_task_id", "_run_id", "_node_id"):
            monkeypatch.setattr(TaskIdentity, name, 1)
        requests = RelayRequests(study.server, study.file.round_deadline, at_once)
        agent = AgentSocket(study.folder / "agent.sock")
        thread = Thread(target=agent.serve, args=(requests.answer, study.server.rounds.advance))
        thread.start()
        try:
            server_app.carry(grid, CoordinatorSession(agent.path))
        finally:
            agent.stop()
            thread.join()
        return grid

    return carry


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (3, 3), (100, 4), (None, 4)])
def test_no_more_messages_are_on_their_way_than_allowed(
    carried: Callable[..., ListGrid], at_once: int | None, most: int
) -> None:
    grid = carried(at_once)
    assert grid.most == most
    status = grid.world.server.status()
    assert status["finished"]
    assert all(site["absorbed"] == 2 for site in status["sites"])


def test_messages_that_are_lost_or_not_taken_are_written_again(carried: Callable[..., ListGrid]) -> None:
    grid = carried(2, lost=(1, 7), refused=(3, 10))
    assert all(site["absorbed"] == 2 for site in grid.world.server.status()["sites"])
    for ledger in grid.world.ledgers.values():
        assert [event.round_index for event in ledger.events("sent")] == [0, 1]


def test_nodes_that_never_answer_take_nobodys_place(carried: Callable[..., ListGrid]) -> None:
    grid = carried(None, strangers=20)
    assert max(grid.asked) == 8, "answers may be large: no more than a few at a time"
    assert all(site["absorbed"] == 2 for site in grid.world.server.status()["sites"])
