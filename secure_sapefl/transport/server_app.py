"""The Flower ServerApp: carries letters between the coordinator and Flower's nodes, one at a time.

Flower starts it in a process of its own for every run, inside the server's process tree, where the environment says
which study to run and where the coordinator's key lies. Neither ever travels in a message.
"""

import logging
import time
from typing import Final

from flwr.app import Context, Message
from flwr.serverapp import Grid, ServerApp

from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.coordinator.state import ServerState
from secure_sapefl.study.file import read_study
from secure_sapefl.study.terms import StudyTerms
from secure_sapefl.transport import server_app_environment as given
from secure_sapefl.transport.flower_message import MESSAGE_TYPE, content_of, parts_of
from secure_sapefl.transport.logs import log_to

_log = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 0.5
_PUBLISH_SECONDS: Final = 2.0
_SLACK_SECONDS: Final = 120.0

app = ServerApp()


@app.main()
def main(grid: Grid, _: Context) -> None:
    file = read_study(given.study())
    terms = StudyTerms.of(file)
    with ServerState(given.state(), file.digest) as state, log_to(state.folder / "server.log"):
        coordinator = Coordinator(file, terms.blueprint.study, terms.params, given.coordinator(), state)
        try:
            carry(grid, coordinator, state, file.round_deadline + _SLACK_SECONDS, given.at_once())
        except Exception as error:
            _log.error("this run failed, the next one goes on: %s: %s", type(error).__name__, error)
            raise


def carry(grid: Grid, coordinator: Coordinator, state: ServerState, ttl: float, at_once: int | None) -> None:
    """Until the study is over. Answers are fetched one by one: they may be large, and there may be many.

    No more than ``at_once`` letters are on their way at a time, and each waits ``ttl`` seconds for its answer. Without
    that limit a node that never answers takes nobody's place.
    """
    on_the_way: dict[str, int] = {}
    published = 0.0
    while not coordinator.finished:
        _send(grid, coordinator, on_the_way, ttl, at_once)
        for message_id, node in tuple(on_the_way.items()):
            for reply in grid.pull_messages([message_id]):
                del on_the_way[message_id]
                coordinator.receive(node, parts_of(reply))
        coordinator.advance()
        if time.monotonic() > published + _PUBLISH_SECONDS:
            state.publish(coordinator.status())
            published = time.monotonic()
        time.sleep(_PAUSE_SECONDS)
    state.publish(coordinator.status())


def _send(grid: Grid, coordinator: Coordinator, on_the_way: dict[str, int], ttl: float, at_once: int | None) -> None:
    for node in grid.get_node_ids():
        if at_once is not None and len(on_the_way) >= at_once:
            return
        parts = coordinator.next_letter(node)
        if parts is None:
            continue
        message = Message(content_of(parts), node, MESSAGE_TYPE, ttl=ttl, group_id=str(coordinator.round_index))
        (message_id,) = grid.push_messages([message])
        if message_id:
            on_the_way[message_id] = node
        else:
            coordinator.receive(node, None)
