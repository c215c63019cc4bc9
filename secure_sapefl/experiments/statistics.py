"""Is a difference more than noise? Pure functions of per-site numbers.

Two methods are compared on pairs: the same site, the same rows, the same seed. The test is Wilcoxon's signed-rank
test (Wilcoxon 1945); a pair without a difference counts half for either side, which is the cautious way, for sites
that two methods serve equally well speak against a difference. Each method of a dataset is held against the best
other one, and the p-values of a dataset are corrected by Holm (1979). Sites of one run share a global model, so pairs
are not quite independent and p-values are a little too small: read them as a filter for noise, not as proof.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import rankdata, wilcoxon

from secure_sapefl.intervals import holm
from secure_sapefl.metrics import Floats

LEVEL: Final = 0.05
TEST: Final = (
    "Wilcoxon signed-rank over site × seed pairs (a tie counts half for either side), Holm-corrected within a dataset"
)

PerSeed = Sequence[Sequence[float]]  # one value a site, for each seed; NaN where a site has none


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, with the sample standard deviation over seeds where there are at least two."""

    mean: float
    std: float | None

    @classmethod
    def over_seeds(cls, per_seed: PerSeed) -> "Estimate":
        """Of the unweighted mean over sites of each seed."""
        means = np.array([mean_of_defined(clients) for clients in per_seed])
        return cls(float(means.mean()), float(means.std(ddof=1)) if len(means) > 1 else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One method against the best other one."""

    rival: str
    difference: float  # mean of (method - rival) over pairs
    p: float
    p_holm: float

    @property
    def beyond_noise(self) -> bool:
        return self.p_holm < LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    estimate: Estimate
    rank: int  # 1 is best; equal means share a rank
    duel: Duel | None  # None where there is nobody to compare with


def placements(scores: Mapping[str, PerSeed], *, higher_is_better: bool = True) -> dict[str, Placement]:
    """Every method's place among those that ran on the same sites and seeds."""
    estimates = {name: Estimate.over_seeds(per_seed) for name, per_seed in scores.items()}
    sign = 1 if higher_is_better else -1
    places = ranks([sign * estimate.mean for estimate in estimates.values()])
    duels = _duels(scores, estimates, sign)
    return {
        name: Placement(estimate=estimates[name], rank=rank, duel=duels.get(name))
        for name, rank in zip(estimates, places, strict=True)
    }


def ranks(means: Sequence[float]) -> list[int]:
    """1 for the highest; a mean that is not defined comes last."""
    values = -np.nan_to_num(np.asarray(means, dtype=np.float64), nan=-np.inf)
    return [int(rank) for rank in rankdata(values, method="min")]


def paired_p(first: PerSeed, second: PerSeed) -> float:
    """Two-sided p-value; 1 where the two never differ, or nothing can be compared."""
    differences = _paired(first, second)
    if not np.any(differences):
        return 1.0
    return float(wilcoxon(differences, zero_method="zsplit", method="asymptotic").pvalue)


def mean_of_defined(values: Sequence[float]) -> float:
    """NaN where no site has the number."""
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[~np.isnan(defined)]
    return float(defined.mean()) if len(defined) else float("nan")


def _paired(first: PerSeed, second: PerSeed) -> Floats:
    """Rounded, so that 0.6 - 0.5 and 0.7 - 0.6 tie."""
    differences = np.concatenate([np.subtract(a, b) for a, b in zip(first, second, strict=True)]).round(12)
    return np.asarray(differences[~np.isnan(differences)], dtype=np.float64)


def _duels(scores: Mapping[str, PerSeed], estimates: Mapping[str, Estimate], sign: int) -> dict[str, Duel]:
    """All against the best, and the best against the second: as many tests as there are other methods."""
    ordered = sorted(scores, key=lambda name: np.nan_to_num(sign * estimates[name].mean, nan=-np.inf), reverse=True)
    best, others = ordered[0], ordered[1:]
    if not others:
        return {}
    p = [paired_p(scores[name], scores[best]) for name in others]
    duels = {
        name: Duel(
            rival=best,
            difference=mean_of_defined(_paired(scores[name], scores[best]).tolist()),
            p=raw,
            p_holm=corrected,
        )
        for name, raw, corrected in zip(others, p, holm(p), strict=True)
    }
    second = duels[others[0]]
    duels[best] = Duel(rival=others[0], difference=-second.difference, p=second.p, p_holm=second.p_holm)
    return duels
