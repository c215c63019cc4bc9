"""The trainer's process. It confines itself, says what holds, and only then reads a record or a line of carried code.

    python -I -m secure_sapefl.site.trainer.worker PARENT KEPT OWN_USER

It is handed a study, rows and weights, and hands weights back. It never had a key, a ledger or a place in the network:
whatever the code does, it can give wrong numbers and take its time, and both are seen by the agent (`carried.py`).
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from secure_sapefl.site.trainer import limits
from secure_sapefl.site.trainer.confinement import confine

if TYPE_CHECKING:
    from secure_sapefl.site.trainer.messages import Message

_BLOCK: Final = 1 << 20


def main(arguments: list[str]) -> None:
    parent, kept, own_user = int(arguments[0]), Path(arguments[1]), arguments[2] == "1"
    limits.end_with(parent)
    read, write = _pipe()
    held = confine(kept, own_user=own_user)
    from secure_sapefl.site.trainer.messages import Message

    _say(write, Message({"held": held}))
    _serve(read, write)


def _pipe() -> tuple[int, int]:
    """The two ends, away from where anybody prints or reads."""
    ends = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for usual in (0, 1, 2):
        os.dup2(nowhere, usual)
    os.close(nowhere)
    return ends


def _serve(read: int, write: int) -> None:
    from secure_sapefl.site.trainer.messages import Message, read_message
    from secure_sapefl.site.trainer.served import Served

    served: Served | None = None
    while True:
        asked = read_message(lambda count: _exactly(read, count))
        try:
            if served is None:
                served = Served.begun(asked)
                answer = served.initial()
            else:
                answer = served.answer(asked)
        except Exception as error:  # of any kind: carried code was run
            answer = Message({"error": f"{type(error).__name__}: {error}"[:1000]})
        _say(write, answer)


def _exactly(read: int, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        piece = os.read(read, min(count - len(content), _BLOCK))
        if not piece:
            raise SystemExit  # the agent has gone
        content += piece
    return bytes(content)


def _say(write: int, message: "Message") -> None:
    left = memoryview(message.to_bytes())
    while left:
        left = left[os.write(write, left) :]


if __name__ == "__main__":
    main(sys.argv[1:])
