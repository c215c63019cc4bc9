"""Ending on purpose: a first SIGINT or SIGTERM asks the work to stop cleanly, a second one interrupts it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """``with asked_to_stop() as stopped``: ``stopped()`` is True once somebody asked."""
    asked = Event()

    def ask(_: int, __: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
