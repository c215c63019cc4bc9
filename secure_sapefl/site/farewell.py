"""When a site leaves a study that is over for it: not before its last answer has arrived.

An answer can be lost on the way, and the server asks again for as long as it runs. So a site stays until the server is
gone, or until the server has asked nothing more for a while.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

CARRIED_SECONDS: Final = 10.0
"""For the relay to carry the last answer away."""
SILENT_SECONDS: Final = 120.0
"""A server that has lost an answer asks again sooner than that."""


@dataclass(slots=True)
class Farewell:
    server_listens: Callable[[], bool]
    now: Callable[[], float] = time.monotonic
    _messages: int = -1
    _since: float = 0.0

    def is_due(self, messages: int) -> bool:
        """``messages`` is how many have come, the end of the study among them."""
        if messages != self._messages:
            self._messages, self._since = messages, self.now()
        silent = self.now() - self._since
        return silent > SILENT_SECONDS or (silent > CARRIED_SECONDS and not self.server_listens())
