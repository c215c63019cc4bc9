"""Flower's SuperNode, which looks for a message soon after it had one:
`python -m secure_sapefl.transport.attention flower-supernode OPTION…`

Flower 1.41 asks the server every three seconds, and has no option for it. A step of shared noise with joint keys is
five messages, each of which waits for the answers to the one before. Where Flower's loop pauses, it does so here: for a
fifth of the time in which nothing came, 0.4 seconds at least and three at most. So a node that has nothing to do for
long asks as seldom as before.
"""

import importlib
import time
from collections.abc import Callable
from typing import Final, NoReturn

from secure_sapefl.transport import ending

_LOOP: Final = "flwr.supernode.start_client_internal"
_SHORTEST_SECONDS: Final = 0.4
_SHARE: Final = 0.2  # of the time since the last message
_IDLE_SECONDS: Final = 3  # what Flower waits where no message was there; less means that one is in work here
_IN_WORK_SECONDS: Final = 0.1


class Pauses:
    """Stands where Flower's loop has Python's ``time``, of which it uses ``sleep`` alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep) -> None:
        self._clock, self._wait = clock, wait
        self._last = clock()

    def sleep(self, seconds: float) -> None:
        if seconds < _IDLE_SECONDS:
            self._last = self._clock()
            self._wait(_IN_WORK_SECONDS)
        else:
            idle = self._clock() - self._last
            self._wait(min(seconds, max(_SHORTEST_SECONDS, _SHARE * idle)))


def main() -> NoReturn:
    importlib.import_module(_LOOP).time = Pauses()  # type: ignore[attr-defined]  # a name in Flower's module
    ending.main()


if __name__ == "__main__":
    main()
