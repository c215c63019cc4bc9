"""Whole numbers modulo the 60-bit prime q, in numpy and without any rounding.

q lies just below 2^60, so what passes 2^60 folds back by a small factor: 2^60 = FOLD (mod q). Products of two 60-bit
numbers do not fit a machine word; they are made from limbs whose products and sums do.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.derivation import keystream
from sapefl_crypto.seal import Coefficients, prime
from sapefl_crypto.secret import Secret

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

RING_DEGREE: Final = 4096
PRIME: Final = prime(RING_DEGREE)
PRIME_BITS: Final = 60
FOLD: Final = 2**PRIME_BITS - PRIME  # 16383
_HALF: Final = PRIME_BITS // 2
_Q: Final = np.uint64(PRIME)
_SIXTY_BITS: Final = np.uint64(2**PRIME_BITS - 1)
_LEFT_BITS: Final = 21
_RIGHT_BITS: Final = 20  # 2^21 · 2^20 · 4096 terms stay below 2^53, where float64 counts exactly
_BLOCK: Final = 16  # vectors at a time: what they need stays in the processor's cache


def reduced(high: Coefficients, low: Coefficients, shift: int) -> Coefficients:
    """high · 2^shift + low modulo q, for any ``low`` and for ``high`` below 2^64 - 2^(64 - shift), shift <= 36."""
    carried = high + (low >> np.uint64(shift))
    above = PRIME_BITS - shift
    rest = (carried & np.uint64(2**above - 1)) << np.uint64(shift) | low & np.uint64(2**shift - 1)
    return below_prime(rest + (carried >> np.uint64(above)) * np.uint64(FOLD))


def below_prime(numbers: Coefficients) -> Coefficients:
    """Numbers below 2q, less q where they reach it: the difference wraps round to something larger elsewhere."""
    fitting: Coefficients = np.minimum(numbers, numbers - _Q)
    return fitting


def added(left: Coefficients, right: Coefficients) -> Coefficients:
    return below_prime(left + right)


def with_signed(numbers: Coefficients, change: Integers) -> Coefficients:
    """numbers + change modulo q, for |change| < q."""
    moved = numbers + change.view(np.uint64)  # below zero wraps round to the top
    return below_prime(np.minimum(moved, moved + _Q))


def negated(numbers: Coefficients) -> Coefficients:
    return below_prime(_Q - numbers)


def centred(numbers: Coefficients) -> Integers:
    """The representatives in (-q/2, q/2)."""
    return np.where(numbers > np.uint64(PRIME // 2), numbers - _Q, numbers).view(np.int64)


def modulo(numbers: Integers) -> Coefficients:
    return np.mod(numbers, np.int64(PRIME)).view(np.uint64)


def times(numbers: Coefficients, factor: int) -> Coefficients:
    """numbers · factor modulo q, for any whole factor: v·c = v1·(2^30·c) + v0·c, both constants in two limbs."""
    lows = [numbers & np.uint64(2**_HALF - 1), numbers >> np.uint64(_HALF)]
    constants = [factor % PRIME, (factor << _HALF) % PRIME]
    low, high = (
        sum(limb * np.uint64(constant >> at & 2**_HALF - 1) for limb, constant in zip(lows, constants, strict=True))
        for at in (0, _HALF)
    )
    return reduced(np.asarray(high), np.asarray(low), _HALF)


def combined(terms: Iterable[tuple[Coefficients, int]]) -> Coefficients:
    """Σ factor · numbers modulo q."""
    products = (times(numbers, factor) for numbers, factor in terms)
    total = next(products)
    for product in products:
        total = added(total, product)
    return total


class Functionals:
    """Vectors of F_q^n, kept as limbs, to be multiplied with many others (tags, dealer checks)."""

    __slots__ = ("_count", "_limbs")

    def __init__(self, rows: Coefficients) -> None:
        self._count = len(rows)
        digits = [rows >> np.uint64(place) & np.uint64(2**_RIGHT_BITS - 1) for place in range(0, 60, _RIGHT_BITS)]
        self._limbs: Reals = np.ascontiguousarray(np.vstack(digits).T.astype(np.float64))

    def __call__(self, vectors: Integers) -> Coefficients:
        """<row, vector> modulo q for each of [m, n] whole numbers below 2^60 in size: [m, rows]."""
        largest = max(int(vectors.max(initial=0)), -int(vectors.min(initial=0)))
        places = range(0, max(1, largest.bit_length()), _LEFT_BITS)
        sums = [np.empty((len(vectors), self._limbs.shape[1])) for _ in places]
        for start in range(0, len(vectors), _BLOCK):
            block = slice(start, start + _BLOCK)
            for place, into in zip(places, sums, strict=True):
                np.matmul(_digit(vectors[block], place, last=place == places[-1]), self._limbs, out=into[block])
        return self._combined(places, sums)

    def _combined(self, places: Sequence[int], sums: Sequence[Reals]) -> Coefficients:
        """Σ 2^(left place + right place) · sum, modulo q."""
        return combined(
            (modulo(part.astype(np.int64)), 1 << left + right * _RIGHT_BITS)
            for left, whole in zip(places, sums, strict=True)
            for right, part in enumerate(np.split(whole, whole.shape[1] // self._count, axis=1))
        )


def _digit(numbers: Integers, place: int, *, last: bool) -> Reals:
    """The digit at ``place`` to the base 2^21; the last one carries the sign."""
    digit = numbers >> place
    if not last:
        digit &= 2**_LEFT_BITS - 1
    return digit.astype(np.float64)


def uniform(key: Secret, block: int, count: int) -> Coefficients:
    """``count`` numbers uniform below q: the 8-byte little-endian words of an AES-256-CTR stream, cut to 60 bits.

    Words that are not below q are passed over (one in 2^46), the stream goes on instead.
    """
    words = count
    while True:
        numbers = np.frombuffer(keystream(key, block, 8 * words), "<u8") & _SIXTY_BITS
        fitting = numbers if int(numbers.max()) < PRIME else numbers[numbers < np.uint64(PRIME)]
        if fitting.size >= count:
            return fitting[:count]
        words += count
