"""The few things a server asks of Microsoft SEAL: read, weigh, add and write ciphertexts, without any key.

A ring has one prime: weighing by integers and adding need no levels, rotations or relinearisation. SEAL's Python
binding saves and loads by path, so bytes pass through an anonymous memory file. SEAL writes a fixed header around the
numbers; we cut it off when saving and write our own when loading, so SEAL never parses a header a stranger made.
"""

import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tenseal.sealapi as sealapi

from sapefl_crypto.errors import CryptoError

Coefficients = npt.NDArray[np.uint64]
Slots = npt.NDArray[np.complex128]

PRIME_BITS: Final = 60
SEED_BYTES: Final = 64
NOISE_VARIANCE: Final = 10.5 + 1 / 12  # SEAL's centred binomial noise (21 coin pairs) and the encoder's rounding
_PRNG_BLAKE2XB: Final = b"\x01"
HEADER_BYTES: Final = 16
_SEED_RECORD: Final = HEADER_BYTES + 1 + SEED_BYTES
_MEMORY_FILES: Final = hasattr(os, "memfd_create")
_LEVELS: Final = {256: "TC256", 192: "TC192", 128: "TC128"}


def security_bits(ring_degree: int) -> int:
    """The highest level of SEAL's own table (homomorphicencryption.org standard) that admits our prime; 0 if none."""
    for bits, name in _LEVELS.items():
        if sealapi.CoeffModulus.MaxBitCount(ring_degree, getattr(sealapi.SEC_LEVEL_TYPE, name)) >= PRIME_BITS:
            return bits
    return 0


@cache
def prime(ring_degree: int) -> int:
    """The largest 60-bit prime with q ≡ 1 (mod 2N): SEAL's choice is deterministic, so all parties agree on it."""
    return int(sealapi.CoeffModulus.Create(ring_degree, [PRIME_BITS])[0].value())


class Ring:
    """Public arithmetic for one ring degree and scale: what a server may do. No method takes or makes a key."""

    def __init__(self, ring_degree: int, scale: float) -> None:
        chosen = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
        chosen.set_poly_modulus_degree(ring_degree)
        chosen.set_coeff_modulus(sealapi.CoeffModulus.Create(ring_degree, [PRIME_BITS]))
        self.degree: Final = ring_degree
        self.scale: Final = scale
        self.context: Final = sealapi.SEALContext(chosen, True, sealapi.SEC_LEVEL_TYPE.TC128)
        self._evaluator = sealapi.Evaluator(self.context)
        self._encoder = sealapi.CKKSEncoder(self.context)
        self.parms_id: Final = self.context.first_parms_id()
        self._load_into = _Inbox().load if _MEMORY_FILES else loaded

    def encode(self, slots: Slots) -> Any:
        plain = sealapi.Plaintext()
        self._encoder.encode(slots.tolist(), self.parms_id, self.scale, plain)
        return plain

    def decode(self, plain: Any) -> Slots:
        return np.fromiter(self._encoder.decode_complex(plain), np.complex128, self.degree // 2)

    def weight(self, number: int) -> Any:
        """An integer weight at scale 1, so that multiplying leaves the ciphertext's scale where it was."""
        plain = sealapi.Plaintext()
        self._encoder.encode(float(number), self.parms_id, 1.0, plain)
        return plain

    def weigh(self, cipher: Any, weight: Any) -> None:
        self._evaluator.multiply_plain_inplace(cipher, weight)

    def add(self, total: Any, cipher: Any) -> None:
        self._evaluator.add_inplace(total, cipher)

    def load_fresh(self, first: Coefficients, seed: bytes, into: Any | None = None) -> Any:
        """A freshly encrypted ciphertext: one polynomial, and the seed SEAL expands into the other.

        Loading ``into`` one that is no longer needed saves its memory from being allocated again.
        """
        return self._load(first, header(_SEED_RECORD) + _PRNG_BLAKE2XB + seed, into)

    def load_sum(self, whole: Coefficients, into: Any | None = None) -> Any:
        """A ciphertext from all its polynomials: two of a sum, up to sixteen where only their products are wanted."""
        return self._load(whole, b"", into, whole.size // self.degree)

    def save_sum(self, cipher: Any, polynomials: int = 2) -> Coefficients:
        return self.numbers(saved(cipher.save), polynomials * self.degree, len(self._metadata(0)))

    def numbers(self, stream: memoryview, count: int, start: int) -> Coefficients:
        return np.frombuffer(_body(stream), "<u8", count, start)

    def fresh_parts(self, serializable: Any) -> tuple[Coefficients, bytes]:
        stream = saved(serializable.save)
        return self.numbers(stream, self.degree, len(self._metadata(0))), bytes(stream[-SEED_BYTES:])

    def _metadata(self, count: int, polynomials: int = 2) -> bytes:
        """What SEAL writes before a ciphertext's numbers: parms id, NTT form, polynomials, one prime, scale."""
        shape = struct.pack("<4QBQQQdQ", *self.parms_id, 1, polynomials, self.degree, 1, self.scale, 1)
        return shape + array_header(count)

    def _load(self, numbers: Coefficients, after: bytes, into: Any | None, polynomials: int = 2) -> Any:
        before, middle = self._metadata(numbers.size, polynomials), numbers.tobytes()
        whole = header(HEADER_BYTES + len(before) + len(middle) + len(after))
        cipher = sealapi.Ciphertext() if into is None else into
        self._load_into(cipher.load, self.context, whole, before, middle, after)
        return cipher


@cache
def ring_of(ring_degree: int, scale: float) -> Ring:
    return Ring(ring_degree, scale)


def array_header(count: int) -> bytes:
    return header(HEADER_BYTES + 8 + 8 * count) + struct.pack("<Q", count)


@cache
def header(size: int) -> bytes:
    """SEAL's own 16 bytes: magic, header size, library version, "not compressed", total size."""
    ours = sealapi.Serialization.SEALHeader()
    return struct.pack("<HBBBBHQ", ours.magic, HEADER_BYTES, ours.version_major, ours.version_minor, 0, 0, size)


def _body(stream: memoryview) -> bytes | memoryview:
    """What SEAL saved, without its header and without the zstd frame around numbers that do not compress.

    TenSEAL offers no way to switch compression off. Ring elements modulo a 60-bit prime are too random for zstd, which
    then stores them as they are in "raw" blocks (RFC 8878, 3.1.1); any other outcome is an error, never a guess.
    """
    if stream[5] == 0:
        return stream[HEADER_BYTES:]
    frame = stream[HEADER_BYTES:]
    if stream[5] != 2 or bytes(frame[:4]) != b"\x28\xb5\x2f\xfd" or frame[4] not in (0x60, 0xA0):
        raise CryptoError("This TenSEAL build saves ciphertexts in an unknown way; install tenseal 0.3.16 to 0.3.18.")
    blocks = list(_raw_blocks(frame, 7 if frame[4] == 0x60 else 9))
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _raw_blocks(frame: memoryview, start: int) -> Iterator[memoryview]:
    last = False
    while not last:
        block = int.from_bytes(frame[start : start + 3], "little")
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        if kind != 0:
            raise CryptoError("SEAL compressed a ciphertext, which random numbers do not allow; encrypt again.")
        yield frame[start + 3 : start + 3 + size]
        start += 3 + size


@contextmanager
def _scratch() -> Iterator[tuple[int, str]]:
    """An open file and its path: in memory, or in a private folder where the system has no memory files."""
    if _MEMORY_FILES:
        descriptor = os.memfd_create("sapefl")
        try:
            yield descriptor, f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryDirectory(prefix="sapefl-") as folder, Path(folder, "seal").open("w+b") as file:
            yield file.fileno(), file.name


def saved(save: Callable[[str], None]) -> memoryview:
    with _scratch() as (descriptor, path):
        save(path)
        return memoryview(os.pread(descriptor, os.fstat(descriptor).st_size, 0))


def loaded(load: Callable[[Any, str], None], context: Any, *stream: bytes) -> None:
    with _scratch() as (descriptor, path):
        os.writev(descriptor, stream)
        load(context, path)


class _Inbox:
    """A memory file used again for every ciphertext loaded; half the cost of a new one each time. Never for a key.

    The lock keeps threads apart, the process id a forked child from its parent.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner = self._descriptor = -1

    def load(self, load: Callable[[Any, str], None], context: Any, *stream: bytes) -> None:
        with self._lock:
            if self._owner != os.getpid():
                self._owner, self._descriptor = os.getpid(), os.memfd_create("sapefl")
            os.ftruncate(self._descriptor, sum(map(len, stream)))
            os.pwritev(self._descriptor, stream, 0)
            load(context, f"/proc/self/fd/{self._descriptor}")
