"""Products in the ring Z_q[x] / (x^4096 + 1), by Microsoft SEAL.

Factors are given in NTT form, where a uniform polynomial is as uniform as in any other; products come back as
coefficients. SEAL multiplies and transforms whole ciphertexts, and a ciphertext may have up to 16 polynomials: one load
and one save then serve 16 chunks.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import tenseal.sealapi as sealapi

from sapefl_crypto.joint.field import RING_DEGREE, uniform
from sapefl_crypto.seal import HEADER_BYTES, Coefficients, Ring, array_header, header, loaded, ring_of
from sapefl_crypto.secret import Guarded, Secret

GROUP: Final = 16
_FEWEST: Final = 2  # SEAL takes nothing with fewer polynomials for a ciphertext


class Multiplier(Guarded):
    """One secret polynomial, to be multiplied with the public polynomials of an occasion."""

    __slots__ = ("_evaluator", "_factor", "_ring")

    def __init__(self, factor: Coefficients) -> None:
        self._ring = ring_of(RING_DEGREE, 1.0)
        self._evaluator = sealapi.Evaluator(self._ring.context)
        self._factor = _plaintext(self._ring, factor)

    def products(self, public: Secret, chunks: int) -> Iterator[Coefficients]:
        """a_k · s for k below ``chunks``, as arrays of up to 16 rows of coefficients."""
        cipher = sealapi.Ciphertext()
        for first in range(0, chunks, GROUP):
            count = min(GROUP, chunks - first)
            polynomials = public_polynomials(public, first, max(count, _FEWEST))
            yield self._multiplied(polynomials, cipher)[:count]

    def _multiplied(self, polynomials: Coefficients, cipher: Any) -> Coefficients:
        self._ring.load_sum(polynomials, cipher)
        self._evaluator.multiply_plain_inplace(cipher, self._factor)
        self._evaluator.transform_from_ntt_inplace(cipher)
        return self._ring.save_sum(cipher, len(polynomials)).reshape(polynomials.shape)


def public_polynomials(public: Secret, first: int, count: int) -> Coefficients:
    """a_k in NTT form for the chunks from ``first`` on; ``public`` is no secret, but the stream takes its key so."""
    return np.stack([uniform(public, chunk, RING_DEGREE) for chunk in range(first, first + count)])


def _plaintext(ring: Ring, factor: Coefficients) -> Any:
    plain = sealapi.Plaintext()
    body = struct.pack("<4QQd", *ring.parms_id, RING_DEGREE, 1.0) + array_header(RING_DEGREE) + factor.tobytes()
    loaded(plain.load, ring.context, header(HEADER_BYTES + len(body)), body)
    return plain
