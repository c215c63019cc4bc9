"""From events to epsilon, by Opacus' accountants.

Heterogeneous composition: events are independent releases of one site's records, in any order. RDP (Mironov et al.
2019, arXiv:1908.10530; conversion of Balle et al. 2020, arXiv:1905.09982) is what a budget is held to: an upper bound
at every order, cheap to extend by a round. PRV (Gopi et al. 2021, arXiv:2106.02848) is tighter and reported beside it.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from opacus.accountants import PRVAccountant
from opacus.accountants.analysis import rdp as renyi

from secure_sapefl.privacy.events import Event

Orders = tuple[float, ...]
ORDERS: Final[Orders] = (
    *(1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20),
    *(24, 28, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512),
)
"""Renyi orders, about evenly spaced on a logarithmic scale of order - 1: integers, which are cheap, where possible."""

PRV_RANGE: Final = 50.0
"""No budget worth the name; above it the exponentials of the PRV accountant overflow."""

Composition = Sequence[tuple[float, float, int]]
"""(noise multiplier, sample rate, steps), as Opacus' accountants keep their history."""


def composition(events: Iterable[Event]) -> Composition:
    """Events with the same noise and rate as one, in an order of their own: the same spending is the same number."""
    steps: Counter[tuple[float, float]] = Counter()
    for event in events:
        steps[event.noise_multiplier, event.sample_rate] += event.steps
    return [(noise, rate, steps[noise, rate]) for noise, rate in sorted(steps)]


def composition_in_sums(events: Iterable[Event], least_honest: int = 1) -> Composition:
    """The same as readers of opened sums see it. Shared noise counts where ``least_honest`` shares of it at least are
    unknown to every reader; the rest counts as if everybody else conspired."""
    return composition(event.in_a_sum() if event.honest >= least_honest else event for event in events)


def spent(events: Iterable[Event], least_honest: int | None) -> Composition:
    """As an owner counts: shared noise only with ``least_honest`` others at least, and not at all for None."""
    return composition(events) if least_honest is None else composition_in_sums(events, least_honest)


def renyi_divergence(spent: Composition, orders: Orders = ORDERS) -> NDArray[np.float64]:
    """The RDP curve of a composition."""
    return sum((count * _of_one_step(noise, rate, orders) for noise, rate, count in spent), np.zeros(len(orders)))


def rdp_epsilon(spent: Composition, delta: float, orders: Orders = ORDERS) -> float:
    return converted(renyi_divergence(spent, orders), delta, orders)[0]


def best_order(spent: Composition, delta: float) -> float:
    """The order at which the conversion to (epsilon, delta) is tightest."""
    return converted(renyi_divergence(spent), delta, ORDERS)[1]


def orders_near(epsilon: float, delta: float) -> Orders:
    """The orders among which the best one for a budget is to be expected, for searching. Fewer orders mean a looser
    bound, never a wrong one.

    Gaussian mechanisms of total rho spend rho + 2 sqrt(rho L), L = log(1 / delta), at order 1 + sqrt(L / rho) (Bun and
    Steinke 2016, arXiv:1605.02065, Proposition 1.3); sampling shifts that order by less than the margin taken here.
    """
    size = math.sqrt(-math.log(delta))
    expected = size / (math.sqrt(size**2 + epsilon) - size)
    near = tuple(order for order in ORDERS if expected / 10 <= order - 1 <= 3 * expected)
    return near or ORDERS


def prv_epsilon(spent: Composition, delta: float) -> float | None:
    """The upper end of the PRV accountant's interval, half a percent wide; None where epsilon is beyond its grid."""
    bound = rdp_epsilon(spent, delta)
    if not spent or bound > PRV_RANGE:
        return None if spent else 0.0
    accountant = PRVAccountant()
    accountant.history = list(spent)
    with _quiet(), np.errstate(divide="ignore"):  # log(1 - rate) is rightly -inf where everybody is sampled
        return float(accountant.get_epsilon(delta, eps_error=max(bound / 200, 0.001)))


@lru_cache(maxsize=1 << 14)
def _of_one_step(noise: float, rate: float, orders: Orders) -> NDArray[np.float64]:
    curve: NDArray[np.float64] = renyi.compute_rdp(q=rate, noise_multiplier=noise, steps=1, orders=orders)
    curve.flags.writeable = False
    return curve


def converted(curve: NDArray[np.float64], delta: float, orders: Orders) -> tuple[float, float]:
    if not curve.any():
        return 0.0, float(orders[-1])
    with _quiet():
        epsilon, order = renyi.get_privacy_spent(orders=list(orders), rdp=curve, delta=delta)
    return max(0.0, float(epsilon)), float(order)


@contextmanager
def _quiet() -> Iterator[None]:
    """Opacus warns where the best order is at an end of the range: epsilon is still an upper bound, only less tight."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Optimal order is the", category=UserWarning)
        yield
