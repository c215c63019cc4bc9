"""How much noise a budget asks for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from typing import Final

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.accounting import (
    Composition,
    best_order,
    orders_near,
    rdp_epsilon,
    renyi_divergence,
)
from secure_sapefl.privacy.events import Budget

_PRECISION: Final = 1.005  # the noise found is at most this much more than is needed
_MOST_NOISE: Final = 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What a site will do over a study: public numbers only."""

    rounds: int  # that the site is expected to take part in
    steps: int  # of DP-SGD in a round, all trainings together
    sample_rate: float
    queries: int  # releases of similarities in a round
    score_fraction: float  # of the RDP budget, at the best order, that goes to them
    preparation: float | None = None  # noise multiplier of a release before the first round
    results: float | None = None  # of one after the last

    def composition(self, noise: "Noise") -> Composition:
        """The whole study as one composition."""
        once = [(noise, 1.0, 1) for noise in (self.preparation, self.results) if noise is not None]
        queries = [] if noise.score is None else [(noise.score, 1.0, self.rounds * self.queries)]
        steps = [] if noise.training is None else [(noise.training, self.sample_rate, self.rounds * self.steps)]
        return sorted((*once, *steps, *queries))


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise multipliers; None where a site makes no such release."""

    training: float | None
    score: float | None


@lru_cache(maxsize=1 << 12)
def calibrate(budget: Budget, schedule: Schedule) -> Noise:
    """The least noise with which the whole schedule stays within the budget; never over it.

    Similarities are plain Gaussian mechanisms: T of them with noise s cost T * a / (2 s^2) at order a. So: first the
    training alone, for the order at which its budget binds; s from its share of the budget at that order; then the
    training again, beside that s.
    """
    if not schedule.steps:
        alone = (
            least_noise(budget, lambda noise: schedule.composition(Noise(None, noise))) if schedule.queries else None
        )
        return Noise(None, alone)
    score = _score_noise(budget, schedule) if schedule.queries else None
    return Noise(least_noise(budget, lambda noise: schedule.composition(Noise(noise, score))), score)


def _score_noise(budget: Budget, schedule: Schedule) -> float:
    alone = least_noise(budget, lambda noise: schedule.composition(Noise(noise, None)))
    spent = schedule.composition(Noise(alone, None))
    order = best_order(spent, budget.delta)
    total = renyi_divergence(spent, order)
    return sqrt(schedule.rounds * schedule.queries * order / (2 * schedule.score_fraction * total))


def least_noise(budget: Budget, spent: Callable[[float], Composition]) -> float:
    """The least noise multiplier with which a composition stays within the budget.

    Bisection on a logarithmic scale; what is returned was itself checked.
    """
    orders = orders_near(budget.epsilon, budget.delta)

    def fits(noise: float) -> bool:
        return rdp_epsilon(spent(noise), budget.delta, orders) <= budget.epsilon

    low, high = 0.25, 0.5
    while not fits(high):
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            raise BadInput(
                f"No amount of noise keeps this study within epsilon {budget.epsilon:g} at delta {budget.delta:g}. "
                "Raise one of them, or plan fewer rounds or epochs."
            )
    while high / low > _PRECISION:
        middle = sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def score_share(budget: Budget, schedule: Schedule, noise: Noise) -> float:
    """Which share of the RDP spent, at the best order, the similarities take."""
    spent = schedule.composition(noise)
    order = best_order(spent, budget.delta)
    scores = replace(schedule, preparation=None, results=None).composition(Noise(None, noise.score))
    return renyi_divergence(scores, order) / renyi_divergence(spent, order)
