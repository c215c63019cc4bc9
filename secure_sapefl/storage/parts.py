"""Several pieces of bytes as one, for sockets and files: 4 bytes number of parts, 8 bytes length of each, the parts."""

import struct
from collections.abc import Callable
from typing import Final

from sapefl_crypto.errors import FrameRejected

Parts = tuple[bytes, ...]

MOST_PARTS: Final = 10_000
LARGEST: Final = 2**31  # bytes in all; Flower carries no more in a message
_COUNT: Final = struct.Struct(">I")
_LENGTH: Final = struct.Struct(">Q")


def head_of(parts: Parts) -> bytes:
    return _COUNT.pack(len(parts)) + b"".join(_LENGTH.pack(len(part)) for part in parts)


def read_parts(exactly: Callable[[int], bytes], largest: int = LARGEST) -> Parts:
    """From a reader that gives as many bytes as asked for. A lying length is refused before memory is used."""
    (count,) = _COUNT.unpack(exactly(_COUNT.size))
    if count > MOST_PARTS:
        raise FrameRejected(f"{count} parts were announced, a message has at most {MOST_PARTS}; leave it out.")
    lengths = [length for (length,) in _LENGTH.iter_unpack(exactly(count * _LENGTH.size))]
    if sum(lengths) > largest:
        raise FrameRejected(f"{sum(lengths)} bytes were announced, a message has at most {largest}; leave it out.")
    return tuple(exactly(length) for length in lengths)


def to_bytes(parts: Parts) -> bytes:
    return b"".join((head_of(parts), *parts))


def from_bytes(content: bytes) -> Parts:
    view, place = memoryview(content), 0

    def exactly(count: int) -> bytes:
        nonlocal place
        place += count
        if place > len(view):
            raise FrameRejected("The parts are cut short; leave them out.")
        return bytes(view[place - count : place])

    parts = read_parts(exactly)
    if place != len(view):
        raise FrameRejected("More bytes came than the parts' lengths say; leave them out.")
    return parts
