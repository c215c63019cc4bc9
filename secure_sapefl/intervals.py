"""How sure a number is: 95 % intervals, seeded, so that whoever computes one again gets the same.

Percentile bootstrap (Efron 1979): the number again, with every site, patient or record counted as often as a draw with
replacement has it. Each user draws its weights here and hands back what the number becomes under each of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from secure_sapefl.metrics import Floats

SITE_RESAMPLES: Final = 4_000
ROW_RESAMPLES: Final = 1_000
_SEED: Final = 20_260_101
_TAILS: Final = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number and its 95 % interval; all NaN where there is no such number."""

    value: float
    low: float
    high: float

    @classmethod
    def from_resamples(cls, value: float, resampled: Floats) -> "Interval":
        """``resampled`` is NaN where a draw leaves the number undefined; such draws do not count."""
        defined = resampled[~np.isnan(resampled)]
        if np.isnan(value) or not len(defined):
            return cls(float("nan"), float("nan"), float("nan"))
        low, high = np.quantile(defined, _TAILS)
        return cls(float(value), float(low), float(high))

    def to_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SiteMean:
    """A mean over the sites that have the number, with its interval; none below two sites."""

    mean: float | None
    low: float | None
    high: float | None
    sites: int


def drawn_weights(strata: Iterable[NDArray[np.bool_]], rng: np.random.Generator, resamples: int) -> Floats:
    """How often each draw has each member, [draws, members]: as many of every stratum as there are in it."""
    masks = list(strata)
    weights = np.zeros((resamples, len(masks[0])))
    for stratum in masks:
        if count := int(stratum.sum()):
            weights[:, stratum] = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    return weights


def poisson_weights(members: int, rng: np.random.Generator, resamples: int) -> Floats:
    """The same for many members, each drawn on its own: the size of a draw varies a little (Chamandy et al. 2012)."""
    return rng.poisson(1.0, (resamples, members)).astype(np.float64)


def bootstrap_mean(values: Sequence[float]) -> SiteMean:
    """How far the mean would move with other sites like these. It says nothing about other seeds of the same study."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    sites = len(numbers)
    if sites < 2:
        return SiteMean(float(numbers[0]) if sites else None, None, None, sites)
    everybody = np.ones(sites, dtype=bool)
    weights = drawn_weights([everybody], np.random.default_rng(_SEED), SITE_RESAMPLES)
    found = Interval.from_resamples(float(numbers.mean()), weights @ numbers / sites)
    return SiteMean(found.value, found.low, found.high, sites)


def bootstrap_difference(values: Sequence[float], others: Sequence[float]) -> SiteMean:
    """Of ``values - others``, site by site: pairing takes out what makes a site easy or hard for both."""
    return bootstrap_mean(np.subtract(values, others).tolist())


def bootstrap_rows(measure: Callable[[NDArray[np.int64]], float], rows: int) -> Interval:
    """Of whatever ``measure`` makes of some of so many rows, given by their places: drawn with replacement."""
    if rows < 1:
        return Interval(float("nan"), float("nan"), float("nan"))
    drawn = np.random.default_rng(_SEED).integers(rows, size=(ROW_RESAMPLES, rows))
    return Interval.from_resamples(measure(np.arange(rows)), np.array([measure(one) for one in drawn]))


def wilson(share: float, rows: int) -> tuple[float, float]:
    """The interval of a share of ``rows`` independent rows (Wilson 1927); sound at 0, at 1 and for few rows."""
    found = binomtest(round(share * rows), rows).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several questions, adjusted (Holm 1979): sorted, times m, m - 1, ..., never decreasing, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return [float(value) for value in np.minimum(adjusted, 1)]
