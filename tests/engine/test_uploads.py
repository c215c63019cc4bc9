"""Uploads reach the server in the order in which they were sent, and a refusal of the site's own is told."""

from concurrent.futures import Future
from typing import Any

import pytest

from sapefl_crypto.errors import ValueRejected
from secure_sapefl.engine.events import MessageSent, RunEvent
from secure_sapefl.engine.result import Sent
from secure_sapefl.engine.uploads import UploadQueue
from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.stopwatch import Stopwatch


class Listening:
    """A server that takes what comes, but not from b."""

    def __init__(self) -> None:
        self.handed_in: list[str] = []

    def accept(self, upload: RoundUpload) -> bool:
        self.handed_in.append(upload.site)
        return upload.site != "b"

    def refuse(self, site: str, reason: str) -> None:
        self.handed_in.append(f"{site}: {reason}")


def upload(site: str) -> RoundUpload:
    return RoundUpload(site=site, round_index=0, similarity_score=1.0, update=b"x", theta_personal=None)


def test_order_refusals_and_events() -> None:
    server: Any = Listening()
    events: list[RunEvent] = []
    queue = UploadQueue(server, Stopwatch(), [events.append])
    futures: dict[str, Future[RoundUpload]] = {site: Future() for site in "abcd"}
    for site, future in futures.items():
        queue.put(site, future)
    futures["b"].set_result(upload("b"))
    queue.accept_finished()
    assert server.handed_in == []  # a was sent first and is not ready
    futures["a"].set_result(upload("a"))
    queue.accept_finished()
    assert server.handed_in == ["a", "b"]
    futures["c"].set_exception(ValueRejected("too large"))
    futures["d"].set_result(upload("d"))
    queue.accept_all()
    assert server.handed_in == ["a", "b", "c: too large", "d"]
    assert queue.accepted == [Sent(site=site, size=9, update=1) for site in "ad"], "sizes, and not what was sent"
    assert [event.sender for event in events if isinstance(event, MessageSent)] == ["a", "b", "d"]


def test_a_fault_that_is_not_the_site_s_word_ends_the_run() -> None:
    queue = UploadQueue(Listening(), Stopwatch(), [])  # type: ignore[arg-type]
    broken: Future[RoundUpload] = Future()
    broken.set_exception(RuntimeError("a worker died"))
    queue.put("a", broken)
    with pytest.raises(RuntimeError, match="a worker died"):
        queue.accept_all()
