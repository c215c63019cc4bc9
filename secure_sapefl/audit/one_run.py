"""A lower bound on epsilon from one training run (Steinke, Nasr, Jagielski 2023, arXiv:2305.08846).

Each of m canaries is put in or left out by a fair coin. The auditor guesses some of the coins from what was released.
If the run was (epsilon, delta)-private, v or more right of r guesses are about as unlikely as for r coins that each
tell the truth with probability e^epsilon / (1 + e^epsilon) (Theorem 5.2). The largest epsilon that is too unlikely is
a lower bound on the true one, with confidence.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from secure_sapefl.metrics import Floats

CONFIDENCE = 0.95
SHARES = (0.1, 0.25, 0.5, 1.0)
"""How many of the canaries are guessed, the others abstained from. The best of these counts, and its confidence pays
for having had the choice (Bonferroni)."""

_LARGEST = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    epsilon: float
    canaries: int
    guesses: int
    right: int
    reachable: float  # had every guess been right

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "confidence": CONFIDENCE}


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """At most this likely is it to be right so often by guessing about an (epsilon, delta)-private run."""
    truth = expit(epsilon)
    fewer = np.arange(1, right + 1)
    below = np.cumsum(binom.pmf(right - fewer, guesses, truth))
    slack = float((below / fewer).max(initial=0.0))
    return min(1.0, float(binom.sf(right - 1, guesses, truth)) + 2 * canaries * delta * slack)


def epsilon_bound(canaries: int, guesses: int, right: int, delta: float, error: float) -> float:
    """The largest epsilon refuted at significance ``error``; 0 where none is."""

    def surplus(epsilon: float) -> float:
        return p_value(canaries, guesses, right, epsilon, delta) - error

    if guesses == 0 or surplus(0.0) >= 0:
        return 0.0
    return float(brentq(surplus, 0.0, _LARGEST, xtol=1e-6)) if surplus(_LARGEST) > 0 else _LARGEST


def lower_bound(scores: Floats, included: NDArray[np.bool_], delta: float) -> LowerBound:
    """Guess "in" for the highest scores and "out" for the lowest, as many of each."""
    canaries, order, error = len(scores), np.argsort(-scores, kind="stable"), (1 - CONFIDENCE) / len(SHARES)
    bounds = []
    for share in SHARES:
        half = int(share * canaries / 2)
        right = int(included[order[:half]].sum() + (~included[order[canaries - half :]]).sum())
        most = epsilon_bound(canaries, 2 * half, 2 * half, delta, error)
        found = epsilon_bound(canaries, 2 * half, right, delta, error)
        bounds.append(LowerBound(epsilon=found, canaries=canaries, guesses=2 * half, right=right, reachable=most))
    return max(bounds, key=lambda bound: (bound.epsilon, bound.guesses))
