"""What a relay may ask of the coordinator: the next message for one of its nodes, and to take in an answer.

The relay is not trusted. Whoever reaches the socket is handed what the network carries anyway, signed for a site and
sealed, and can drop, delay or repeat it. It chooses no word of what is signed; its answers count if a site of the
roster signed them, as an answer to the very message that is on its way. There is one session at a time, the newest: a
relay that takes messages and goes away, or was never ours, keeps no site waiting once ours has begun anew.
"""

import json
import secrets
from typing import Any, Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.committee import MOST_MEMBERS
from secure_sapefl.coordinator.stages import AnyCoordinator
from secure_sapefl.storage.parts import Parts
from secure_sapefl.study.round_terms import RoundTerms
from secure_sapefl.transport.coordinator_socket import BEGIN, CAME, NEXT

_SLACK_SECONDS: Final = 120.0
_MOST_NODES: Final = 10_000
_MOST_HEAD: Final = 1 << 20  # bytes
_LARGEST_NODE: Final = 2**64
_WEIGHT_BYTES: Final = 8  # of a sealed model, at most
_SHARE_BYTES: Final = 1 << 15  # of a member's share, or answer, at most


class RelayRequests:
    def __init__(self, coordinator: AnyCoordinator, round_deadline: float, at_once: int | None = None) -> None:
        self._coordinator, self._at_once = coordinator, at_once
        self._seconds = round_deadline + _SLACK_SECONDS
        self._session = ""
        self._nodes: dict[int, bool] = {}  # whether a message is on its way there

    def answer(self, request: Parts) -> Parts:
        """`FrameRejected` for whatever is none of the three questions, or comes from an old session."""
        head = _head(request)
        if head.get("ask") == BEGIN:
            return _reply(self._begin())
        if head.get("session") != self._session or not self._session:
            raise FrameRejected("A relay spoke in a session that is not the newest; it has to begin anew.")
        if head.get("ask") == NEXT:
            return self._next(_nodes(head.get("nodes")))
        if head.get("ask") == CAME:
            return self._came(head.get("node"), request[1:] if head.get("answered") is True else None)
        raise FrameRejected("A relay asked for something that nobody may ask for.")

    def _begin(self) -> dict[str, Any]:
        self._session = secrets.token_hex(16)
        self._nodes.clear()
        self._coordinator.forget_nodes()
        return {"session": self._session, "seconds": self._seconds, "at_once": self._at_once}

    def _next(self, nodes: list[int]) -> Parts:
        """A message for the first node that is due one. Nodes beyond the most a session may name are not there."""
        over = self._coordinator.finished
        for node in () if over else nodes:
            if self._nodes.get(node, len(self._nodes) >= _MOST_NODES):
                continue
            parts = self._coordinator.next_message(node)
            self._nodes[node] = parts is not None
            if parts is not None:
                return _reply({"over": False, "node": node}, parts)
        return _reply({"over": over, "node": None})

    def _came(self, node: object, parts: Parts | None) -> Parts:
        if type(node) is not int or not self._nodes.get(node):
            raise FrameRejected("A relay brought an answer from a node that was sent nothing.")
        self._nodes[node] = False
        self._coordinator.receive(node, parts)
        return _reply({})


def largest_answer(terms: RoundTerms) -> int:
    """Bytes of the largest answer a site of this study has reason to give, twice over."""
    length = terms.study.parameters
    update = terms.params.chunks(length) * terms.params.fresh_chunk_bytes
    shares = 0 if terms.file.keys == "shared" else _SHARE_BYTES * min(len(terms.file.sites), MOST_MEMBERS)
    results = terms.params.fresh_chunk_bytes
    return 2 * (update + shares + results + _WEIGHT_BYTES * length) + _MOST_HEAD


def _head(request: Parts) -> dict[str, Any]:
    try:
        head = json.loads(request[0]) if request and len(request[0]) <= _MOST_HEAD else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise FrameRejected("A relay's question cannot be read.")
    return head


def _nodes(named: object) -> list[int]:
    if not isinstance(named, list) or not all(type(node) is int and 0 <= node < _LARGEST_NODE for node in named):
        raise FrameRejected("A relay named nodes that are none.")
    return named


def _reply(head: dict[str, Any], parts: Parts = ()) -> Parts:
    return (json.dumps(head).encode(), *parts)
