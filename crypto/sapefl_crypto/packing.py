"""Vectors to chunks, chunks to slots, and ring elements to bytes. Nothing here is secret or random.

A chunk of N real places is [data | tags]; places j and j + N/2 share the complex slot j. Real weights keep the two
halves apart. On the wire two 60-bit numbers take 15 bytes: 7.5 bytes a value instead of SEAL's 8.
"""

import numpy as np
import numpy.typing as npt

from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.seal import Coefficients, Slots

Chunks = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating[npt.NBitBase]]


def checked(vector: npt.ArrayLike, params: Parameters) -> npt.NDArray[np.float64]:
    """The vector as float64, or `ValueRejected`: what does not fit is refused before encryption, never clipped."""
    values = np.asarray(vector)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind != "f":
        raise ValueRejected(f"Expected a flat, non-empty vector of floats, got {values.dtype} of shape {values.shape}.")
    peak = float(np.max(np.abs(values)))  # NaN if any value is
    if not peak <= params.max_abs_value:
        raise ValueRejected(
            f"The vector reaches {peak:g}; this cohort's parameters allow values up to ±{params.max_abs_value:g}. "
            "Clip or scale the update deliberately, or plan Parameters with a larger max_abs_value."
        )
    return values.astype(np.float64)


def to_chunks(values: npt.NDArray[np.float64], params: Parameters) -> Chunks:
    padded = np.zeros(params.chunks(values.size) * params.data_slots)
    padded[: values.size] = values
    return padded.reshape(-1, params.data_slots)


def to_slots(places: npt.NDArray[np.float64]) -> Slots:
    half = places.size // 2
    return places[:half] + 1j * places[half:]


def from_slots(slots: Slots) -> npt.NDArray[np.float64]:
    return np.concatenate((slots.real, slots.imag))


def pack(numbers: Coefficients) -> bytes:
    """Two 60-bit numbers in 15 bytes, little endian: low | high << 60."""
    low, high = numbers[0::2], numbers[1::2]
    packed = np.empty((low.size, 15), np.uint8)
    packed[:, :8] = _bytes_of(low | high << np.uint64(60))
    packed[:, 8:] = _bytes_of(high >> np.uint64(4))[:, :7]
    return packed.tobytes()


def unpack(data: bytes | memoryview) -> Coefficients:
    packed = np.frombuffer(data, np.uint8).reshape(-1, 15)
    first, rest = np.zeros((2, len(packed), 8), np.uint8)
    first[:], rest[:, :7] = packed[:, :8], packed[:, 8:]
    word, high = first.view("<u8")[:, 0], rest.view("<u8")[:, 0]
    numbers = np.empty(2 * len(packed), np.uint64)
    numbers[0::2] = word & np.uint64(2**60 - 1)
    numbers[1::2] = word >> np.uint64(60) | high << np.uint64(4)
    return numbers


def _bytes_of(words: Coefficients) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(-1, 8)
