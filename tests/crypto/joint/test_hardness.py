"""The estimate, against published figures, and the sampler's shape, against the distribution the argument is about."""

import math

import numpy as np
import pytest

from sapefl_crypto import Parameters
from sapefl_crypto.joint.hardness import core_svp, report
from sapefl_crypto.joint.round_key import rounded_gaussian
from sapefl_crypto.secret import Secret


@pytest.mark.parametrize(("degree", "variance", "block"), [(1024, 8, 967), (512, 12, 449)])
def test_the_estimate_is_that_of_newhope(degree: int, variance: int, block: int) -> None:
    """Published for q = 12289: blocks of 967 for NewHope and 449 for JarJar (USENIX Security 2016, table 1)."""
    assert core_svp(math.sqrt(variance), degree, 12289).block == pytest.approx(block, abs=2)


def test_joint_keys_keep_two_hundred_bits() -> None:
    left = core_svp(3.2)
    assert (left.classical_bits, left.quantum_bits) == (228, 206)
    assert core_svp(6.4).classical_bits == 238
    assert "228" in report()


def missed(weights: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """How many times fewer changes two of three ``pairs`` of sites reach than keep the weighted sum, for [n, 3]."""
    steps = []
    for first, second in pairs:
        common, step = np.gcd(weights[:, first], weights[:, second]), np.zeros_like(weights)
        step[:, first], step[:, second] = weights[:, second] // common, -weights[:, first] // common
        steps.append(step)
    across, least = np.cross(*steps), np.gcd.reduce(weights, axis=1)
    return np.abs(across[:, 0]) * least // weights[:, 0]


def test_changes_of_two_sites_at_a_time_make_up_all_that_keep_a_sum() -> None:
    """The last step of the argument, for every three weights of a plan; two fixed pairs alone do not do."""
    some = range(1, 33)
    weights = np.array([(u, v, w) for u in some for v in some for w in some])
    chains = [missed(weights, pairs) for pairs in ([(0, 1), (1, 2)], [(0, 1), (0, 2)], [(0, 2), (1, 2)])]
    assert (np.gcd.reduce(chains) == 1).all()
    assert missed(np.array([[2, 3, 4]]), [(0, 1), (1, 2)]) == 3


@pytest.mark.parametrize(("weight_bits", "limit"), [(5, 2.0**-32), (0, 2.0**-12)])
def test_a_rounded_gaussian_is_nearly_a_discrete_one(weight_bits: int, limit: float) -> None:
    """Relative difference of chances within six widths, to the discrete Gaussian of variance sigma² + 1/12."""
    sigma = Parameters.joint(max_clients=4, weight_bits=weight_bits).sigma
    values = range(round(6 * sigma) + 1)
    rounded = [_upper(k - 0.5, sigma) - _upper(k + 0.5, sigma) for k in values]
    wide = sigma**2 + 1 / 12
    discrete = [math.exp(-k * k / (2 * wide)) / math.sqrt(2 * math.pi * wide) for k in values]
    assert max(abs(r / d - 1) for r, d in zip(rounded, discrete, strict=True)) < limit


def _upper(x: float, sigma: float) -> float:
    return math.erfc(x / sigma / math.sqrt(2)) / 2


def test_errors_have_the_planned_width_and_no_memory() -> None:
    sigma = Parameters.joint(max_clients=4).sigma
    errors = rounded_gaussian(Secret(b"s" * 32), sigma, (64, 4096), 0)
    assert errors.std() == pytest.approx(sigma, rel=0.01)
    assert abs(errors.mean()) < 5 * sigma / math.sqrt(errors.size)
    assert np.abs(errors).max() < 6.5 * sigma
    flat = errors.ravel() / sigma
    assert abs(np.mean(flat[1:] * flat[:-1])) < 5 / math.sqrt(flat.size)
    assert np.mean(flat**4) == pytest.approx(3, rel=0.02)
