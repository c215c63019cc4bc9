"""Vectors to chunks, chunks to slots, and ring elements to bytes. Nothing here is secret or random.

A chunk of N real places is [data | tags]; places j and j + N/2 share the complex slot j. Real weights keep the two
halves apart. On the wire a 60-bit number takes 7.5 bytes instead of SEAL's 8.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.exact_plan import ExactPlan
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.seal import Coefficients, Slots

Chunks = npt.NDArray[np.float64]


def checked(vector: npt.ArrayLike, params: ExactPlan) -> npt.NDArray[np.float64]:
    """The vector on the plan's grid, as float64."""
    return params.on_grid(bounded(vector, params.max_abs_value).astype(np.float64))


def bounded(vector: npt.ArrayLike, max_abs_value: float) -> npt.NDArray[np.floating[Any]]:
    """The vector, or `ValueRejected`: what does not fit is refused before encryption, never clipped."""
    values = np.asarray(vector)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind != "f":
        raise ValueRejected(f"Expected a flat, non-empty vector of floats, got {values.dtype} of shape {values.shape}.")
    peak = float(np.max(np.abs(values)))  # NaN if any value is
    if not peak <= max_abs_value:
        raise ValueRejected(
            f"The vector reaches {peak:g}; this cohort's parameters allow values up to ±{max_abs_value:g}. "
            "Clip or scale the update deliberately, or plan Parameters with a larger max_abs_value."
        )
    return values


def to_chunks(values: npt.NDArray[np.float64], params: Parameters) -> Chunks:
    padded = np.zeros(params.chunks(values.size) * params.data_slots)
    padded[: values.size] = values
    return padded.reshape(-1, params.data_slots)


def to_slots(places: npt.NDArray[np.float64]) -> Slots:
    """[chunks, N] real places as [chunks, N/2] complex slots."""
    half = places.shape[1] // 2
    return places[:, :half] + 1j * places[:, half:]


def from_slots(slots: Slots) -> npt.NDArray[np.float64]:
    """N/2 complex slots as N real places."""
    return np.concatenate((slots.real, slots.imag))


def pack(numbers: Coefficients) -> bytes:
    """60-bit numbers in 7.5 bytes each, little endian, in four planes so that every step is one pass over memory.

    With a the first and b the second half of the numbers: 8 bytes a | b << 60, then b >> 4 in 4 + 2 + 1 bytes.
    """
    low, high = numbers.reshape(2, -1)
    rest = high >> 4
    planes = (low | high << 60, rest.astype("<u4"), (rest >> 32).astype("<u2"), (rest >> 48).astype("u1"))
    return b"".join(plane.tobytes() for plane in planes)


def unpack(data: bytes | memoryview, *, below: int = 2**60) -> Coefficients:
    """`ValueRejected` where a number is none of the ring's: the bytes are somebody else's."""
    half = len(data) // 15
    word = np.frombuffer(data, "<u8", half)
    numbers = np.empty((2, half), np.uint64)
    low, high = numbers
    np.bitwise_and(word, 2**60 - 1, out=low)
    np.left_shift(np.frombuffer(data, "u1", half, 14 * half), 16, out=high, dtype=np.uint64)
    high |= np.frombuffer(data, "<u2", half, 12 * half)
    high <<= 32
    high |= np.frombuffer(data, "<u4", half, 8 * half)
    high <<= 4
    high |= word >> 60
    if int(numbers.max()) >= below:
        raise ValueRejected("a number is not below the prime")
    return numbers.reshape(-1)


def pieces(payload: bytes, size: int) -> list[memoryview]:
    view = memoryview(payload)
    return [view[start : start + size] for start in range(0, len(view), size)]
