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
CLEARLY: Final = 3.0  # deviations of noise that the rows of a noised sum are above, or it tells nothing


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
    """``totals`` as sites opened them, over so many ``sites``; ``noise`` is the deviation of what each of them added to
    each of its counts, in rows, and None where nothing was added."""

    sites: int
    totals: tuple[int, ...]
    noise: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Mean over sites, and how far sites are from it; of a private study, over all rows, with the deviation of its
        noise in place of a spread, and nothing where noise may be most of what was counted."""
        found = self._over_sites() if self.noise is None else self._pooled(math.sqrt(self.sites) * self.noise)
        return {"sites": self.sites, "noised": self.noise is not None, "results": found}

    def _pooled(self, noise: float) -> dict[str, dict[str, float | None]]:
        """``noise`` is the deviation of each sum in rows; to first order it makes a share x / rows off by the last."""
        right, wrong, brier = ((total - NOISE_OFFSET * self.sites) / STEP for total in self.totals)
        rows = right + wrong
        if rows <= CLEARLY * math.sqrt(2) * noise:
            return {name: {"mean": None, "std": None, "noise": None} for name in ("accuracy", "brier")}
        hit, squared = (min(max(count / rows, 0.0), 1.0) for count in (right, brier))
        off = {"accuracy": math.hypot(1 - hit, hit), "brier": 2 * math.hypot(1, squared, squared)}
        means = {"accuracy": hit, "brier": 2 * squared}
        return {name: {"mean": means[name], "std": None, "noise": off[name] * noise / rows} for name in means}

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
