"""Shamir's secret sharing over F_q, place by place of a vector (Shamir, "How to share a secret", 1979).

A secret vector is the value at 0 of a polynomial of degree t - 1, a member's share its value at the member's point.
The first t - 1 shares are pseudorandom and travel as 32-byte seeds; they and the secret fix the polynomial, and the
others follow. For who does not know all seeds the shares are those of a random polynomial, by the stream's security.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sapefl_crypto.derivation import ROOT_BYTES
from sapefl_crypto.joint.field import PRIME, PRIME_BITS, combined, uniform
from sapefl_crypto.packing import pack, unpack
from sapefl_crypto.seal import Coefficients
from sapefl_crypto.secret import Guarded, Secret


class DealtShares(Guarded):
    """A secret vector's shares at the points 1 … members: seeds below the threshold, vectors from there on."""

    __slots__ = ("_seeds", "_vectors")

    def __init__(self, secret: Coefficients, *, threshold: int, members: int) -> None:
        self._seeds = [Secret(os.urandom(ROOT_BYTES)) for _ in range(threshold - 1)]
        drawn = {point: expanded(seed, secret.size) for point, seed in enumerate(self._seeds, 1)}
        self._vectors = [value_at({0: secret} | drawn, point) for point in range(threshold, members + 1)]
        wipe(drawn.values())

    def plain(self) -> Iterator[bytes]:
        """Every member's share as it is sealed: 32 bytes, or packed numbers."""
        yield from (seed.reveal() for seed in self._seeds)
        yield from map(pack, self._vectors)

    def erase(self) -> None:
        wipe(self._vectors)
        self._seeds, self._vectors = [], []


def read_share(plain: Secret, point: int, *, threshold: int, count: int) -> Coefficients | None:
    """The share at ``point`` from `DealtShares.plain`; None where these bytes cannot be it."""
    data = plain.reveal()
    if point < threshold:
        return expanded(plain, count) if len(data) == ROOT_BYTES else None
    if len(data) != count * PRIME_BITS // 8:
        return None
    numbers = unpack(data)
    return numbers if int(numbers.max()) < PRIME else None


def expanded(seed: Secret, count: int) -> Coefficients:
    return uniform(seed, 0, count)


def value_at(known: Mapping[int, Coefficients], point: int) -> Coefficients:
    """The value at ``point`` of the polynomial through all ``known`` points."""
    points = list(known)
    return combined((known[at], factor) for at, factor in zip(points, lagrange(points, point), strict=True))


def lagrange(points: Sequence[int], at: int) -> list[int]:
    """Factors λ with P(at) = Σ λ_i · P(points_i) for every P of degree below their number."""
    return [_lagrange_factor(points, own, at) for own in points]


def _lagrange_factor(points: Sequence[int], own: int, at: int) -> int:
    above = below = 1
    for other in points:
        if other != own:
            above, below = above * (at - other) % PRIME, below * (own - other) % PRIME
    return above * pow(below, -1, PRIME) % PRIME


def consistent(values: Mapping[int, Coefficients], threshold: int) -> bool:
    """Whether all values lie on one polynomial of degree below ``threshold``."""
    first = dict(list(values.items())[:threshold])
    others = (point for point in values if point not in first)
    return all(np.array_equal(value_at(first, point), values[point]) for point in others)


def wipe(arrays: Iterable[Coefficients]) -> None:
    """Overwrite what was secret; copies that numpy or Python made on the way are beyond reach."""
    for array in arrays:
        if array.flags.writeable:
            array.fill(0)
