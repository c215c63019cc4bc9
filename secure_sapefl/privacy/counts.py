"""Noise on a site's counts: of a Table 1, of what a common preparation is made from, or behind test results.

A record adds at most one step at one place a column, so that the counts of tables that differ in one record are at most
sqrt(columns) steps apart (L2). Sums of values would need far more noise than a count; where there is a budget, they are
not sent.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from secure_sapefl.privacy.calibration import Schedule, calibrate
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.protocol.results import COUNTED, STEP
from secure_sapefl.protocol.sums import NOISE_OFFSET

Counts = NDArray[np.int64]
SHARE_OF_PREPARATION: Final = 0.1  # of epsilon, before the first round
SHARE_OF_RESULTS: Final = 0.1  # after the last


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise:
    """``of_records`` says which entries count records; the others are sums, and stay at home."""

    columns: int
    of_records: NDArray[np.bool_]
    step: int = 1

    def deviation(self, multiplier: float) -> float:
        """Of the noise on each count."""
        return self.step * multiplier * sqrt(self.columns)

    def noised(self, exact: Counts, paid: Paid, randomness: Randomness) -> Counts:
        drawn = torch.empty(len(exact), dtype=torch.float64)
        randomness.normal_(drawn)
        noise = np.rint(self.deviation(paid.spend().noise_multiplier) * drawn.numpy()).astype(np.int64)
        return np.where(self.of_records, np.maximum(exact + noise + NOISE_OFFSET, 0), 0)

    def total(self, opened: Counts, sites: int) -> Counts:
        """What sites' noised counts came to together."""
        return np.where(self.of_records, opened - NOISE_OFFSET * sites, 0)


def multiplier_of(budget: Budget) -> float:
    """Of one release, on the whole budget."""
    schedule = Schedule(rounds=1, steps=0, sample_rate=1.0, queries=1, score_fraction=1.0)
    multiplier = calibrate(budget, schedule).score
    assert multiplier is not None
    return multiplier


def multiplier_of_preparation(budget: Budget) -> float:
    """Of the release before the first round, in a study with this budget for everything."""
    return multiplier_of(Budget(SHARE_OF_PREPARATION * budget.epsilon, budget.delta))


RESULT_NOISE: Final = CountNoise(columns=2, of_records=np.ones(len(COUNTED), dtype=np.bool_), step=STEP)
"""A test row is one step of right or of wrong, and at most one of the Brier score."""


def multiplier_of_results(budget: Budget) -> float:
    """Of the release after the last round, in a study with this budget for everything."""
    return multiplier_of(Budget(SHARE_OF_RESULTS * budget.epsilon, budget.delta))


def count_event(release: str, multiplier: float, study: str) -> Event:
    return Event(
        mechanism="gaussian",
        release=release,
        noise_multiplier=multiplier,
        sample_rate=1.0,
        steps=1,
        round_index=0,
        study=study,
    )
