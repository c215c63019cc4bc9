"""How sure a mean over sites is: the percentile bootstrap (Efron 1979) over sites, seeded, so a page is reproducible.

It says how far the mean would move with other sites like these. It says nothing about other seeds of the same study.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4_000
_SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over the sites that have the number, with its 95 % interval; no interval below two sites."""

    mean: float | None
    low: float | None
    high: float | None
    sites: int


def bootstrap_mean(values: Sequence[float]) -> Interval:
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    sites = len(numbers)
    if sites == 0:
        return Interval(None, None, None, 0)
    mean = float(numbers.mean())
    if sites == 1:
        return Interval(mean, None, None, 1)
    times_drawn = np.random.default_rng(_SEED).multinomial(sites, np.full(sites, 1 / sites), size=RESAMPLES)
    low, high = np.percentile(times_drawn @ numbers / sites, (2.5, 97.5))
    return Interval(mean, float(low), float(high), sites)


def bootstrap_difference(values: Sequence[float], others: Sequence[float]) -> Interval:
    """Of ``values - others``, site by site: pairing takes out what makes a site easy or hard for both."""
    return bootstrap_mean(np.subtract(values, others).tolist())


def wilson(share: float, rows: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``rows`` independent rows (Wilson 1927); sound at 0, at 1 and for few rows."""
    z = 1.959964
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return middle - reach, middle + reach
