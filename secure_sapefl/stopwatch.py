"""Seconds by phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

Phase = Literal["local", "similarity", "personal", "encrypt", "aggregate", "decrypt", "evaluate"]
PHASES: tuple[Phase, ...] = get_args(Phase)


class Stopwatch:
    """Adds up wall-clock seconds by phase. Phases that overlap (encryption in other processes) count what was waited
    for."""

    def __init__(self) -> None:
        self.seconds: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start
