"""The two facts about noise on a grid, held against numbers computed another way."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, norm

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.randomness import KeyedRandomness, SystemRandomness
from secure_sapefl.privacy.shared.grid import (
    FEWEST_STEPS,
    TAIL,
    rounded,
    rounded_gaussian,
    rounding_distance,
    sensitivity,
)

Floats = NDArray[np.float64]
WHOLE = np.arange(-60, 61)


def one_rounded(deviation: float) -> Floats:
    """P(round(N(0, s^2)) = k)."""
    return np.asarray(norm.cdf((WHOLE + 0.5) / deviation) - norm.cdf((WHOLE - 0.5) / deviation))


def sum_of_rounded(deviation: float, summands: int) -> Floats:
    """By convolution, number by number."""
    total = one_rounded(deviation)
    for _ in range(summands - 1):
        total = np.convolve(total, one_rounded(deviation), mode="same")
    return total


def gaussian_then_uniforms(deviation: float, summands: int) -> Floats:
    """P(round(N(0, K s^2) + V) = k) by quadrature over V, the sum of one or two uniform numbers."""
    points, weights = np.polynomial.legendre.leggauss(60)
    match summands:
        case 2:
            v, density = points / 2, weights / 2
        case 3:  # the triangle 1 - |v|, one half at a time
            half = (points + 1) / 2
            v, density = np.concatenate((half, -half)), np.tile(weights / 2 * (1 - half), 2)
    wide = deviation * math.sqrt(summands)
    ends = [norm.cdf((WHOLE[:, None] + side - v) / wide) for side in (0.5, -0.5)]
    return np.asarray((ends[0] - ends[1]) @ density)


def distance(p: Floats, q: Floats) -> float:
    return float(np.abs(p - q).sum() / 2)


@pytest.mark.parametrize("summands", [2, 3])
@pytest.mark.parametrize("deviation", [0.3, 0.5, 0.8, 1.2])
def test_a_sum_of_rounded_gaussians_is_a_rounded_gaussian_with_more_noise(deviation: float, summands: int) -> None:
    found = distance(sum_of_rounded(deviation, summands), gaussian_then_uniforms(deviation, summands))
    assert found <= rounding_distance(deviation, summands) + 1e-13


def test_on_a_coarse_grid_they_differ_and_the_distance_says_so() -> None:
    """Otherwise the test above could not fail: at 0.3 steps the two are apart, at 1.2 they are not."""
    apart = [distance(sum_of_rounded(s, 3), gaussian_then_uniforms(s, 3)) for s in (0.3, 1.2)]
    assert apart[0] > 1e-2
    assert apart[1] < 1e-3 * rounding_distance(0.3, 3)


def test_from_the_fewest_steps_on_the_distance_is_nothing() -> None:
    """Of a million numbers, in ten thousand rounds, with a thousand sites."""
    assert 1e10 * rounding_distance(FEWEST_STEPS, 1000) < 1e-100
    assert rounding_distance(1.0, 5) > rounding_distance(2.0, 5) > 0


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_a_sum_of_rounded_gaussians_is_as_private_as_the_gaussian(epsilon: float) -> None:
    """delta(eps) of the discrete mechanism, summed up, against the Gaussian's (Balle and Wang 2018, Theorem 8)."""
    deviation, summands, moved = 2.0, 3, 4
    p = sum_of_rounded(deviation, summands)
    discrete = np.maximum(p[moved:] - math.exp(epsilon) * p[:-moved], 0).sum()
    ratio = moved / (deviation * math.sqrt(summands))
    exact = norm.cdf(ratio / 2 - epsilon / ratio) - math.exp(epsilon) * norm.cdf(-ratio / 2 - epsilon / ratio)
    assert 0 < discrete <= exact + (1 + math.exp(epsilon)) * rounding_distance(deviation, summands)
    assert discrete > exact / 2


def test_one_rounded_gaussian_is_a_gaussian_mechanism_rounded_afterwards() -> None:
    noise = 7.3 * np.random.default_rng(0).normal(size=1000)
    whole = np.random.default_rng(1).integers(-50, 50, 1000)
    assert (whole + rounded(noise) == rounded(whole + noise)).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_record_moves_a_rounded_sum_by_no_more_than_the_sensitivity(seed: int) -> None:
    """Sums just below the middle between two steps, and a record that carries every one of them over."""
    rng = np.random.default_rng(seed)
    step, clip, places = 0.01, 0.07, 400
    record = np.abs(rng.normal(size=places))
    record *= clip / np.linalg.norm(record)
    others = (rng.integers(-100, 100, places) + 0.5) * step - record / 2
    moved = step * np.linalg.norm(rounded((others + record) / step) - rounded(others / step))
    assert moved <= sensitivity(clip, step, places)
    assert moved > 2 * clip  # the rounding is not nothing


def test_the_sensitivity_by_hand() -> None:
    assert sensitivity(1.0, 0.001, 10_000) == pytest.approx(1.1)


@pytest.mark.parametrize("source", [KeyedRandomness(np.random.default_rng(3)), SystemRandomness()], ids=["keyed", "os"])
def test_noise_is_whole_and_has_the_deviation_asked_for(source: KeyedRandomness | SystemRandomness) -> None:
    drawn = rounded_gaussian(source, 1000.0, 20_000)
    assert drawn.dtype == np.int64
    assert kstest(drawn / 1000, "norm").pvalue > 1e-6
    assert drawn.std() == pytest.approx(1000, rel=0.03)
    assert np.abs(drawn).max() < TAIL * 1000


def test_a_grid_too_coarse_for_the_proof_is_refused() -> None:
    with pytest.raises(BadInput, match="finer"):
        rounded_gaussian(SystemRandomness(), 7.9, 3)
    with pytest.raises(BadInput, match="finer"):
        rounded_gaussian(SystemRandomness(), float("nan"), 3)
