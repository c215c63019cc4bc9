"""The Flower ServerApp: a relay between Flower's nodes and the coordinator's socket. It holds no key and no study.

Flower executes app code. So this file, or whatever is executed in its place, can do no more than its user can: knock on
the socket, and drop, delay or repeat messages.
"""

import os
import time
from pathlib import Path
from typing import Final

from flwr.app import Context, Message
from flwr.serverapp import Grid, ServerApp

from secure_sapefl.transport.coordinator_socket import SOCKET_VARIABLE, CoordinatorSession
from secure_sapefl.transport.flower_message import MESSAGE_TYPE, content_of, parts_of

_PAUSE_SECONDS: Final = 0.3
_AT_A_TIME: Final = 8

app = ServerApp()


@app.main()
def main(grid: Grid, _: Context) -> None:
    carry(grid, CoordinatorSession(Path(os.environ[SOCKET_VARIABLE])))


def carry(grid: Grid, coordinator: CoordinatorSession) -> None:
    """Until the study is over. Answers are asked for a few at a time: there may be many, they may be large, and each
    question costs the SuperLink as much as any.

    Where the coordinator limits how many messages are on their way at a time, a node that never answers takes a place
    until its message expires. Without that limit it takes nobody's place.
    """
    on_the_way: dict[str, int] = {}
    while not coordinator.over:
        _send(grid, coordinator, on_the_way)
        names = list(on_the_way)
        for start in range(0, len(names), _AT_A_TIME):
            for reply in grid.pull_messages(names[start : start + _AT_A_TIME]):
                node = on_the_way.pop(reply.metadata.reply_to_message_id)
                coordinator.came(node, parts_of(reply))
        time.sleep(_PAUSE_SECONDS)


def _send(grid: Grid, coordinator: CoordinatorSession, on_the_way: dict[str, int]) -> None:
    nodes = list(grid.get_node_ids())
    while coordinator.at_once is None or len(on_the_way) < coordinator.at_once:
        due = coordinator.next_for(nodes)
        if due is None:
            return
        message = Message(content_of(due.parts), due.node, MESSAGE_TYPE, ttl=coordinator.seconds)
        (message_id,) = grid.push_messages([message])
        if message_id:
            on_the_way[message_id] = due.node
        else:
            coordinator.came(due.node, None)
