"""Test results that leave sites as one sum, so that a coordinator learns mean and spread and nobody's own.

Each site sends every result, and its square, as counts on a coarse grid, in one frame after the last round: sums of
several rounds, over sites that come and go, would give single sites away by their differences. A site sends all of them
or none. Were one undefined at some sites, its sum would be over fewer than the others.

A site that takes its own part off both sums has two equations for the others. They would tell two others' results; so
four sites at least are in a sum.

In a private study sites send counts behind the results instead, with noise (`privacy/counts.py`): how many test rows
the common model gets right and wrong, and the sum of its Brier score. One row moves each by one step at most. AUC and
calibration error are no sums over rows, and squares of counts have no small bound, so neither they nor a spread leave.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sapefl_crypto import Parameters
from secure_sapefl.metrics import Array, softmax
from secure_sapefl.protocol.study import Study
from secure_sapefl.protocol.sums import NOISE_OFFSET, Counts, SumOfCounts

RESULTS: Final = ("accuracy", "auc", "brier", "calibration_error")
SMALLEST_SUM: Final = 4
COUNTED: Final = ("right", "wrong", "brier")
"""What a private study sums: a row is one step of right or of wrong, and at most one of brier, half its score."""
STEP: Final = 1 << 10


def least_senders(min_cohort: int) -> int:
    """How many sites are in a sum of results, where so many make a round count."""
    return max(min_cohort, SMALLEST_SUM)


def entries_of(*, noised: bool) -> int:
    return len(COUNTED) if noised else 2 * len(RESULTS)


def results_plan(params: Parameters, study: Study, least: int, *, noised: bool = False) -> SumOfCounts:
    """The sum behind the rounds of a study; a round after the last one, for late sites, has the number before it."""
    entries = entries_of(noised=noised)
    return SumOfCounts(params=params, study=study.name, index=study.rounds + 1, entries=entries, least=least)


def result_counts(found: Mapping[str, float]) -> Counts | None:
    """A site's results, for `SumOfCounts`; None where one of them is not defined."""
    values = np.array([found[name] for name in RESULTS], dtype=np.float64)
    if not np.isfinite(values).all():
        return None
    counts = np.rint(values * STEP).astype(np.int64)
    return np.concatenate([counts, counts**2])


def row_counts(outputs: Array, y: Array) -> Counts:
    """What a private study sums, before its noise. Every row is rounded by itself, so that none moves another's part;
    one that a model has no number for counts as wrong as can be."""
    right = outputs.argmax(1) == y
    squared = np.square(softmax(outputs) - np.eye(outputs.shape[1])[y]).sum(1) / 2
    brier = np.rint(STEP * np.clip(np.nan_to_num(squared, nan=1.0), 0, 1)).sum()
    return np.array([STEP * right.sum(), STEP * (~right).sum(), brier], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ResultSum:
    """``totals`` as sites opened them, over so many ``sites``."""

    sites: int
    totals: tuple[int, ...]
    noised: bool = False

    def to_json(self) -> dict[str, Any]:
        """Mean over sites, and how far sites are from it; of a private study, over all rows and without a spread."""
        found = self._pooled() if self.noised else self._over_sites()
        return {"sites": self.sites, "noised": self.noised, "results": found}

    def _pooled(self) -> dict[str, dict[str, float | None]]:
        right, wrong, brier = (total - NOISE_OFFSET * self.sites for total in self.totals)
        rows = max(right + wrong, STEP)  # noise may leave none
        shares = {"accuracy": min(max(right / rows, 0.0), 1.0), "brier": 2 * min(max(brier / rows, 0.0), 1.0)}
        return {name: {"mean": share, "std": None} for name, share in shares.items()}

    def _over_sites(self) -> dict[str, dict[str, float | None]]:
        values, squares = self.totals[: len(RESULTS)], self.totals[len(RESULTS) :]
        return {
            name: _spread(value, square, self.sites)
            for name, value, square in zip(RESULTS, values, squares, strict=True)
        }


def is_result_total(totals: Sequence[int], *, noised: bool = False) -> bool:
    return len(totals) == entries_of(noised=noised)


def _spread(value: int, square: int, sites: int) -> dict[str, float | None]:
    mean = value / STEP / sites
    return {"mean": mean, "std": math.sqrt(max(square / STEP**2 / sites - mean**2, 0.0))}
