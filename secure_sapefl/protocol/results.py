"""Test results that leave sites as one sum, so that a coordinator learns mean and spread and nobody's own.

Each site sends every result, and its square, as counts on a coarse grid, in one frame after the last round: sums of
several rounds, over sites that come and go, would give single sites away by their differences. A site sends all of them
or none. Were one undefined at some sites, its sum would be over fewer than the others.

A site that takes its own part off both sums has two equations for the others. They would tell two others' results; so
four sites at least are in a sum.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sapefl_crypto import Parameters
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.sums import Counts, SumOfCounts

RESULTS: Final = ("accuracy", "auc", "brier", "calibration_error")
SMALLEST_SUM: Final = 4
_GRID: Final = 1 << 10


def least_senders(min_cohort: int) -> int:
    """How many sites are in a sum of results, where so many make a round count."""
    return max(min_cohort, SMALLEST_SUM)


def results_plan(params: Parameters, study: Study, least: int) -> SumOfCounts:
    """The sum behind the rounds of a study; a round after the last one, for late sites, has the number before it."""
    entries = 2 * len(RESULTS)
    return SumOfCounts(params=params, study=study.name, index=study.rounds + 1, entries=entries, least=least)


def result_counts(found: Mapping[str, float]) -> Counts | None:
    """A site's results, for `SumOfCounts`; None where one of them is not defined."""
    values = np.array([found[name] for name in RESULTS], dtype=np.float64)
    if not np.isfinite(values).all():
        return None
    counts = np.rint(values * _GRID).astype(np.int64)
    return np.concatenate([counts, counts**2])


@dataclass(frozen=True, slots=True)
class ResultSum:
    """``totals`` as sites opened them, over so many ``sites``."""

    sites: int
    totals: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Mean over sites, and how far sites are from it."""
        values, squares = self.totals[: len(RESULTS)], self.totals[len(RESULTS) :]
        found = {
            name: _spread(value, square, self.sites)
            for name, value, square in zip(RESULTS, values, squares, strict=True)
        }
        return {"sites": self.sites, "results": found}


def is_result_total(totals: Sequence[int]) -> bool:
    return len(totals) == 2 * len(RESULTS)


def _spread(value: int, square: int, sites: int) -> dict[str, float]:
    mean = value / _GRID / sites
    return {"mean": mean, "std": math.sqrt(max(square / _GRID**2 / sites - mean**2, 0.0))}
