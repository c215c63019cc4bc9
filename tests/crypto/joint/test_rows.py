"""Chunks packed many at a time are the bytes that one at a time gives."""

import numpy as np
import pytest

from sapefl_crypto.joint.field import RING_DEGREE
from sapefl_crypto.joint.rows import BLOCK, ROW_BYTES, blocks, pack_rows, rows_of, unpack_rows
from sapefl_crypto.packing import pack


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_are_packed_as_chunks_are_and_come_back(rows: int) -> None:
    numbers = np.random.default_rng(rows).integers(0, 2**60, (rows, RING_DEGREE), np.uint64)
    numbers[0, :2], numbers[0, -2:] = 2**60 - 1, [0, 2**60 - 1]
    packed = np.empty((rows, ROW_BYTES), np.uint8)
    pack_rows(numbers, packed)
    assert packed.tobytes() == b"".join(pack(row) for row in numbers)
    np.testing.assert_array_equal(unpack_rows(rows_of(packed.tobytes())), numbers)


def test_blocks_cover_every_row_once() -> None:
    covered = [row for part in blocks(2 * BLOCK + 3) for row in range(2 * BLOCK + 3)[part]]
    assert covered == list(range(2 * BLOCK + 3))
    assert list(blocks(0)) == []
