"""Noise on a grid. Encrypted sums are sums of whole numbers of steps, so records and noise are rounded before they are
added. Two facts make that harmless (docs/privacy.md has the proofs); everything here is in steps of the grid.

1. x + round(N) = round(x + N) for whole x. One site's noised sum is what a Gaussian mechanism would give, rounded
   afterwards: it is exactly as private.

2. The sum of K rounded Gaussians of deviation s is distributed like round(N(0, K s^2) + V), V the sum of K - 1 uniform
   numbers in [-1/2, 1/2], up to `rounding_distance`. Adding V and rounding read no record, so the sum of K sites is as
   private as a Gaussian mechanism of deviation sqrt(K) s.

   The probabilities of a rounded Gaussian are the density of N(0, s^2) + U at whole numbers, whose Fourier series is
   the periodic sum of g(t) = exp(-s^2 t^2 / 2) sinc(t / 2). Its K-th power and the periodic sum of g^K, which belongs
   to round(N(0, K s^2) + V), differ only by terms that contain a g at |t| >= pi, of size exp(-pi^2 s^2 / 2).

The discrete Gaussian has the like of both (Canonne, Kamath, Steinke 2020, arXiv:2004.00010; Kairouz, Liu, Steinke 2021,
arXiv:2102.06387).
"""

import math
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.randomness import Randomness

Whole = NDArray[np.int64]

FEWEST_STEPS: Final = 8.0
"""Deviation of one share: fact 2 then holds to exp(-315)."""

TAIL: Final = 12.0
"""Deviations within which noise has to lie to be carried. It is outside once in 2.8e32 numbers."""


def sensitivity(clip: float, step: float, parameters: int) -> float:
    """The most that one record can move a rounded sum, in L2: its own clipped gradient, and less than one step in each
    place where it carries the sum over the middle between two steps."""
    return clip + step * math.sqrt(parameters)


def rounded(values: NDArray[np.float64]) -> Whole:
    return np.rint(values).astype(np.int64)


def rounded_gaussian(randomness: Randomness, deviation: float, count: int) -> Whole:
    """``count`` numbers from round(N(0, deviation^2)). Doubles are fine enough for that: what 53 bits of a number
    could betray (Mironov, CCS 2012) is far below a step and rounded away."""
    if not deviation >= FEWEST_STEPS:
        raise BadInput(
            f"A share of the noise has a deviation of {deviation:.3g} steps of the grid; sums of shares are proven "
            f"private from {FEWEST_STEPS:g} on. Plan for fewer sites or a smaller largest value, so that the grid is "
            "finer."
        )
    drawn = torch.empty(count, dtype=torch.float64)
    randomness.normal_(drawn)
    return rounded(deviation * drawn.numpy())


def rounding_distance(deviation: float, summands: int) -> float:
    """An upper bound of the total variation distance in fact 2, for one number.

    The largest difference of two probabilities is that of their Fourier series, (1 + eta)^K - 1 + eta with eta the sum
    of |g(t + 2 pi j)| over j != 0. It counts for all numbers up to R; beyond R = K / 2 + pi sqrt(K) s^2 both have
    tails of at most 2 exp(-pi^2 s^2 / 2).
    """
    far = math.exp(-((math.pi * deviation) ** 2) / 2)
    eta = 2 * sum(far ** ((2 * j - 1) ** 2) for j in range(1, 10))
    largest = math.expm1(summands * math.log1p(eta)) + eta
    reach = summands / 2 + math.pi * math.sqrt(summands) * deviation**2
    return ((2 * reach + 1) * largest + 4 * far) / 2
