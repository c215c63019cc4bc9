"""What the ServerApp says to the coordinator over its socket, and hears: three questions, each a small head and parts.

    begin                      a session, which ends the one before; how long a message may wait, how many at a time
    next, for these nodes      a message for one of them, or nothing; and whether the study is over
    came, from this node       its answer, or that none came

The head is JSON. Nothing here says what a message is: that is between the coordinator and its sites.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from secure_sapefl.errors import SapeflError
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.agent_socket import ask

BEGIN: Final = "begin"
NEXT: Final = "next"
CAME: Final = "came"
SOCKET_VARIABLE: Final = "SAPEFL_COORDINATOR_SOCKET"  # all the ServerApp is told


class SessionEnded(SapeflError):
    """The coordinator talks to somebody else now."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message for a node of Flower's."""

    node: int
    parts: Parts


class CoordinatorSession:
    """The ServerApp's end. `OSError` where there is no coordinator."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        head, _ = self._asked({"ask": BEGIN})
        self._name: str = head["session"]
        self.seconds: float = head["seconds"]  # a message may wait for its answer
        self.at_once: int | None = head["at_once"]
        self.over = False

    def next_for(self, nodes: Sequence[int]) -> Outgoing | None:
        head, parts = self._asked({"ask": NEXT, "session": self._name, "nodes": list(nodes)})
        self.over = head["over"]
        return None if head["node"] is None else Outgoing(head["node"], parts)

    def came(self, node: int, parts: Parts | None) -> None:
        """An answer the coordinator will not even read, a huge one perhaps, counts as none."""
        question = {"ask": CAME, "session": self._name, "node": node}
        if parts is not None:
            with suppress(SessionEnded, OSError):
                self._asked({**question, "answered": True}, parts)
                return
        self._asked({**question, "answered": False})

    def _asked(self, question: dict[str, Any], parts: Parts = ()) -> tuple[dict[str, Any], Parts]:
        answer = ask(self._socket, (json.dumps(question).encode(), *parts))
        if answer is None:
            raise SessionEnded("The coordinator refuses: another relay has taken over. This one ends.")
        return json.loads(answer[0]), answer[1:]
