"""Chunks to packed bytes and back, many at a time: the format of `packing.pack`, one chunk a row.

A row of 2h numbers is four planes: h words of 8 bytes (a number of the first half, and the last four bits of one of the
second), then the other 56 bits of the second half in 4, 2 and 1 bytes.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapefl_crypto.joint.field import PRIME_BITS, RING_DEGREE
from sapefl_crypto.seal import Coefficients

Packed = npt.NDArray[np.uint8]

HALF: Final = RING_DEGREE // 2
ROW_BYTES: Final = RING_DEGREE * PRIME_BITS // 8
BLOCK: Final = 16
"""Chunks that are worked on at a time: what they need stays in the processor's cache."""
_EDGES: Final = (8 * HALF, 12 * HALF, 14 * HALF)


class Planes(NamedTuple):
    words: npt.NDArray[np.uint64]
    fours: npt.NDArray[np.uint32]
    twos: npt.NDArray[np.uint16]
    ones: npt.NDArray[np.uint8]


def blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))


def rows_of(payload: bytes | memoryview) -> Packed:
    return np.frombuffer(payload, np.uint8).reshape(-1, ROW_BYTES)


def planes(packed: Packed) -> Planes:
    first, second, third = _EDGES
    return Planes(
        packed[:, :first].view("<u8"),
        packed[:, first:second].view("<u4"),
        packed[:, second:third].view("<u2"),
        packed[:, third:],
    )


def pack_rows(numbers: Coefficients, into: Packed) -> None:
    low, high, out = numbers[:, :HALF], numbers[:, HALF:], planes(into)
    scratch = high << np.uint64(60)
    np.bitwise_or(low, scratch, out=out.words)
    np.right_shift(high, np.uint64(4), out=scratch)
    out.fours[:] = scratch
    scratch >>= np.uint64(32)
    out.twos[:] = scratch
    scratch >>= np.uint64(16)
    out.ones[:] = scratch


def unpack_rows(packed: Packed) -> Coefficients:
    given = planes(packed)
    numbers = np.empty((len(packed), RING_DEGREE), np.uint64)
    low, high = numbers[:, :HALF], numbers[:, HALF:]
    np.bitwise_and(given.words, np.uint64(2**PRIME_BITS - 1), out=low)
    np.left_shift(given.ones, 16, out=high, dtype=np.uint64)
    high |= given.twos
    high <<= np.uint64(32)
    high |= given.fours
    high <<= np.uint64(4)
    high |= given.words >> np.uint64(60)
    return numbers
