"""From events to epsilon, by Opacus' accountants.

Heterogeneous composition: events are independent releases of one site's records, in any order. RDP (Mironov et al.
2019, arXiv:1908.10530; conversion of Balle et al. 2020, arXiv:1905.09982) is what a budget is held to: an upper bound
at every order, cheap to extend by a round. PRV (Gopi et al. 2021, arXiv:2106.02848) is tighter and reported beside it.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import numpy as np
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.analysis import rdp as renyi
from opacus.accountants.analysis.prv import Domain

from secure_sapefl.privacy.events import Event

Orders = tuple[float, ...]
ORDERS: Final[Orders] = (
    *(1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20),
    *(24, 28, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512),
)
"""Renyi orders, about evenly spaced on a logarithmic scale of order - 1: integers, which are cheap, where possible."""

PRV_RANGE: Final = 50.0
"""No budget worth the name; above it the exponentials of the PRV accountant overflow."""

_ROUNDING: Final = 1e-9
"""An order is left out where it is worse by more than this, so that rounding decides nothing."""

_PRV_ORDERS: Final[Orders] = tuple(RDPAccountant.DEFAULT_ALPHAS)

Composition = Sequence[tuple[float, float, int]]
"""(noise multiplier, sample rate, steps), as Opacus' accountants keep their history."""


class Running:
    """A composition that grows by a round at a time: a study of many steps does not count its events anew in each."""

    def __init__(self, noise_of: Callable[[Event], float], events: Iterable[Event] = ()) -> None:
        self._noise_of, self._steps = noise_of, Counter[tuple[float, float]]()
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._steps[self._noise_of(event), event.sample_rate] += event.steps

    def with_more(self, events: Iterable[Event] = ()) -> Composition:
        """With ``events``, which are not kept, in an order of its own: the same spending is the same number."""
        steps = self._steps.copy()
        for event in events:
            steps[self._noise_of(event), event.sample_rate] += event.steps
        return [(noise, rate, steps[noise, rate]) for noise, rate in sorted(steps)]


def noise_alone(event: Event) -> float:
    """As it counts whoever reads."""
    return event.noise_multiplier


def noise_in_sums(event: Event) -> float:
    """As it counts for readers of opened sums."""
    return event.noise_in_a_sum


def composition(events: Iterable[Event]) -> Composition:
    """Events with the same noise and rate as one."""
    return Running(noise_alone, events).with_more()


def composition_in_sums(events: Iterable[Event], least_honest: int = 1) -> Composition:
    """The same as readers of opened sums see it. Shared noise counts where ``least_honest`` shares of it at least are
    unknown to every reader; the rest counts as if everybody else conspired."""

    def noise(event: Event) -> float:
        return event.noise_in_a_sum if event.honest >= least_honest else event.noise_multiplier

    return Running(noise, events).with_more()


def spent(events: Iterable[Event], least_honest: int | None) -> Composition:
    """As an owner counts: shared noise only with ``least_honest`` others at least, and not at all for None."""
    return composition(events) if least_honest is None else composition_in_sums(events, least_honest)


def renyi_divergence(spent: Composition, order: float) -> float:
    """The RDP of a composition at one order."""
    return sum((count * _of_one_step(noise, rate, order) for noise, rate, count in spent), 0.0)


def rdp_epsilon(spent: Composition, delta: float, orders: Orders = ORDERS) -> float:
    return _rdp_epsilon(tuple(spent), delta, orders)


@lru_cache(maxsize=1 << 12)
def _rdp_epsilon(spent: tuple[tuple[float, float, int], ...], delta: float, orders: Orders) -> float:
    """Sites of a study often have spent alike: what one of them counts, the others need not."""
    return tightest(lambda order: renyi_divergence(spent, order), delta, orders)[0]


def best_order(spent: Composition, delta: float) -> float:
    """The order at which the conversion to (epsilon, delta) is tightest."""
    return tightest(lambda order: renyi_divergence(spent, order), delta)[1]


def orders_near(epsilon: float, delta: float) -> Orders:
    """The orders among which the best one for a budget is to be expected, for searching. Fewer orders mean a looser
    bound, never a wrong one.

    Gaussian mechanisms of total rho spend rho + 2 sqrt(rho L), L = log(1 / delta), at order 1 + sqrt(L / rho) (Bun and
    Steinke 2016, arXiv:1605.02065, Proposition 1.3); sampling shifts that order by less than the margin taken here.
    """
    size = math.sqrt(-math.log(delta))
    expected = size * (math.sqrt(size**2 + epsilon) + size) / epsilon
    near = tuple(order for order in ORDERS if expected / 10 <= order - 1 <= 3 * expected)
    return near or ORDERS


def prv_epsilon(spent: Composition, delta: float) -> float | None:
    """The upper end of the PRV accountant's interval, half a percent wide; None where epsilon or delta is beyond its
    grid."""
    bound = rdp_epsilon(spent, delta)
    if not spent or bound > PRV_RANGE:
        return None if spent else 0.0
    accountant = _QuickPrv()
    accountant.history = list(spent)
    with _quiet(), np.errstate(divide="ignore"):  # log(1 - rate) is rightly -inf where everybody is sampled
        try:
            return float(accountant.get_epsilon(delta, eps_error=max(bound / 200, 0.001)))
        except (ValueError, RuntimeError):  # Opacus': a delta that drowns in rounding, or one that no epsilon has
            return None


class _QuickPrv(PRVAccountant):  # type: ignore[misc]  # Opacus has no types
    """Opacus' accountant with the same grid found sooner: Opacus computes 150 orders for it, all but a few in vain.
    There is no public way to give it a grid."""

    def _get_domain(self, *, eps_error: float, delta_error: float, **_: object) -> Domain:
        """As `compute_safe_domain_size`: privacy losses of the whole and of every step, but for ``delta_error``."""
        count = sum(steps for *_, steps in self.history)
        whole = rdp_epsilon(self.history, delta_error / 4, _PRV_ORDERS)
        each = (rdp_epsilon([(*step, 1)], delta_error / (8 * count), _PRV_ORDERS) for *step, _ in self.history)
        most = max(whole, *each, eps_error) + 3
        return Domain.create_aligned(-most, most, eps_error / np.sqrt(count * np.log(12 / delta_error) / 2))


@lru_cache(maxsize=1 << 18)
def _of_one_step(noise: float, rate: float, order: float) -> float:
    return float(renyi.compute_rdp(q=rate, noise_multiplier=noise, steps=1, orders=float(order)))


def tightest(divergence: Callable[[float], float], delta: float, orders: Orders = ORDERS) -> tuple[float, float]:
    """Epsilon, and the order whose conversion gives it. No order is computed that cannot be it.

    Divergence is at least 0 and grows with the order (van Erven and Harremoes 2014, arXiv:1206.2459, Theorem 3): with
    that of the next lower order known, the conversion alone often costs more than the best epsilon so far. Orders that
    are not integers need a long series; they come last, when few of them are still in question.
    """
    known: dict[float, float] = {}
    best = math.inf
    for order in sorted(orders, key=lambda order: (order % 1 > 0, order)):
        least = max((known[lower] for lower in known if lower < order), default=0.0)
        if least + _conversion(order, delta) <= best + _ROUNDING:
            known[order] = divergence(order)
            best = min(best, known[order] + _conversion(order, delta))
    if not any(known.values()):
        return 0.0, float(orders[-1])
    asked = sorted(known)
    with _quiet():
        epsilon, at = renyi.get_privacy_spent(orders=asked, rdp=[known[order] for order in asked], delta=delta)
    return max(0.0, float(epsilon)), float(at)


def _conversion(order: float, delta: float) -> float:
    """What Opacus' conversion adds to the divergence (Balle et al. 2020, Theorem 21)."""
    return -(math.log(delta) + math.log(order)) / (order - 1) + math.log1p(-1 / order)


@contextmanager
def _quiet() -> Iterator[None]:
    """Opacus warns where the best order is at an end of the range: epsilon is still an upper bound, only less tight."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Optimal order is the", category=UserWarning)
        yield
