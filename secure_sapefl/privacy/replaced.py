"""Epsilon for a record that is replaced by another, from the same events.

One step of the Poisson-sampled Gaussian mechanism, with noise s in units of what one record brings. The worst two
records bring opposite things, and the same coin takes either of them (`REPLACE_ONE` of Google's dp-accounting; Lebeda
et al. 2024, arXiv:2405.20769):

    P = (1 - q) N(0, s^2) + q N(1, s^2)    against    Q = (1 - q) N(0, s^2) + q N(-1, s^2)

Its Renyi divergence has no closed form but for q = 1, where it is 2 a / s^2 at order a. It is integrated by the
trapezoidal rule, which for such functions errs by less than rounding once a step is a small part of s.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from secure_sapefl.privacy.accounting import Composition, tightest

Floats = NDArray[np.float64]
_STEP = 1 / 16  # of the grid, in units of the noise
_MARGIN = 12.0  # of the grid beyond the outermost Gaussian, in the same units


def replace_one_epsilon(spent: Composition, delta: float) -> float:
    """By RDP, like the epsilon for a record added or removed."""
    return tightest(lambda order: sum(count * _of_one_step(noise, rate, order) for noise, rate, count in spent), delta)[
        0
    ]


@lru_cache(maxsize=1 << 18)
def _of_one_step(noise: float, rate: float, order: float) -> float:
    return 2 * order / noise**2 if rate == 1 else _divergence(noise, rate, order)


def _divergence(noise: float, rate: float, order: float) -> float:
    """1 / (a - 1) log of the integral of P^a Q^(1 - a), whose mass lies between -1 and 2 a - 1."""
    low, high = -1 - _MARGIN * noise, 2 * order - 1 + _MARGIN * noise
    x = np.linspace(low, high, max(1000, int((high - low) / (_STEP * noise))))
    log_p, log_q = (_log_mixture(x, mean, noise, rate) for mean in (1.0, -1.0))
    integral = logsumexp(order * log_p + (1 - order) * log_q) + np.log(x[1] - x[0])
    return max(0.0, float(integral) / (order - 1))


def _log_mixture(x: Floats, mean: float, noise: float, rate: float) -> Floats:
    away, taken = (-((x - centre) ** 2) / (2 * noise**2) for centre in (0.0, mean))
    mixed: Floats = np.logaddexp(np.log1p(-rate) + away, np.log(rate) + taken) - np.log(noise * np.sqrt(2 * np.pi))
    return mixed
