"""Sealed vectors: what the server relays and never reads (``theta_personal`` on its way to the peers).

AES-256-GCM with a fresh random nonce; the header, study, round and sender are associated data, so a blob moved to
another study, round or sender, or with a changed header, does not open. Random 96-bit nonces allow 2^32 messages a key
(NIST SP 800-38D, 8.3); a study seals one vector per site and round, far below.

    offset  size     field
    0       4        magic "SPEV"
    4       1        version, 1
    5       1        number type: 1, float32 (little endian)
    6       4        count of numbers, big endian
    10      12       nonce
    22      4·count  ciphertext
    end     16       tag
"""

import os
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected, KeyRejected, ValueRejected

KEY_BYTES: Final = 32
_MAGIC: Final = b"SPEV"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(">4sBBI")
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_BODY: Final = _HEADER.size + _NONCE_BYTES
_FLOAT32: Final = 1
_NUMBER: Final = np.dtype("<f4")


def seal_vector(
    key: bytes, vector: npt.NDArray[np.floating[Any]], *, study: str, round_index: int, sender: str
) -> bytes:
    """Encrypt ``vector`` for the holders of ``key``, as what ``sender`` says in this round of this study only."""
    cipher = _cipher(key)
    del key  # a traceback that shows locals must not show it
    numbers = _on_the_wire(vector)
    header = _HEADER.pack(_MAGIC, _VERSION, _FLOAT32, numbers.size)
    nonce = os.urandom(_NONCE_BYTES)
    about = bind("sapefl envelope", header, study, round_index, sender)
    return b"".join((header, nonce, cipher.encrypt(nonce, _raw(numbers), about)))


def open_vector(key: bytes, blob: bytes, *, study: str, round_index: int, sender: str) -> npt.NDArray[np.float32]:
    """Decrypt what ``sender`` sealed in this round of this study, or raise `FrameRejected`."""
    cipher = _cipher(key)
    del key
    who = f"Envelope of {sender!r}, round {round_index}"
    numbers = np.empty(_declared(blob, who), _NUMBER)
    about = bind("sapefl envelope", blob[: _HEADER.size], study, round_index, sender)
    try:
        cipher.decrypt_into(blob[_HEADER.size : _BODY], memoryview(blob)[_BODY:], about, _raw(numbers))
    except InvalidTag:
        raise FrameRejected(
            f"{who}: it does not open for study {study!r}. It was altered, moved from another study, round or sender, "
            "or sealed with another cohort key; leave it out and compare key fingerprints."
        ) from None
    if not np.isfinite(numbers).all():
        raise FrameRejected(f"{who}: it holds NaN or infinity, which no honest site seals; leave it out.")
    return numbers.astype(np.float32, copy=False)


def _cipher(key: bytes) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise KeyRejected(f"An envelope key has {KEY_BYTES} bytes, not {len(key)}; derive it from the cohort key.")
    return AESGCM(key)


def _on_the_wire(vector: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """The vector as it will travel; a copy only where type or layout differ."""
    if vector.ndim != 1 or not 0 < vector.size < 2**32 or vector.dtype.kind != "f":
        raise ValueRejected(f"Expected a flat, non-empty vector of floats, got {vector.dtype} of shape {vector.shape}.")
    with np.errstate(over="ignore"):  # what overflows is refused below
        numbers = np.ascontiguousarray(vector, _NUMBER)
    if not np.isfinite(numbers).all():
        raise ValueRejected("The vector holds NaN, infinity or a number too large for float32; it was not sealed.")
    return numbers


def _declared(blob: bytes, who: str) -> int:
    """The count from the header, believed only where it fits the bytes that are really there."""
    if len(blob) <= _BODY + _TAG_BYTES:
        raise FrameRejected(f"{who}: {len(blob)} bytes are too few for an envelope; ask the sender to send it again.")
    magic, version, code, count = _HEADER.unpack_from(blob)
    if magic != _MAGIC or version != _VERSION or code != _FLOAT32:
        raise FrameRejected(f"{who}: not an envelope of version {_VERSION}; use the same package version at all sites.")
    expected = _BODY + count * _NUMBER.itemsize + _TAG_BYTES
    if len(blob) != expected:
        raise FrameRejected(f"{who}: its header promises {expected} bytes, {len(blob)} came; leave it out.")
    return int(count)


def _raw(numbers: npt.NDArray[np.floating[Any]]) -> memoryview:
    return numbers.data.cast("B")
