"""One preparation for all sites, from totals alone: fill, scale and vocabulary. No site shows a number of its own.

Every site counts its training rows on public ranges and levels (`tally.py`). From the totals follow the fill of a
missing number (the median, read off the histogram), mean and deviation of the filled column, and the levels that
somebody has.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np

from secure_sapefl.config import Agreed
from secure_sapefl.data.prepare import AgreedScale, MixedColumns, Range
from secure_sapefl.data.tables.features import Feature, Measured
from secure_sapefl.data.tables.preparation import mixed
from secure_sapefl.data.tables.tally import CountPlan, Counts, Tally, range_of
from secure_sapefl.errors import BadInput

_LEAST_SPREAD: Final = 1e-6
_EMPTY: Final = (0.0, 0.0, 1.0)


def agreed(totals: Counts, plan: CountPlan, *, sites: int, noised: bool = False) -> Agreed:
    """What follows from totals over so many sites. ``noised``: the sums are noise, and histograms say it all."""
    (tallies,) = plan.read(totals)
    numbers, levels = {}, {}
    for feature, tally in zip(plan.features, tallies, strict=True):
        if isinstance(feature, Measured):
            numbers[feature.name] = _number(range_of(feature), tally, noised)
        else:
            levels[feature.name] = tuple(
                level for level, count in zip(feature.levels, tally.cells, strict=True) if count > 0
            )
    return Agreed(numbers=numbers, levels=levels, sites=sites, noised=noised)


def common_preparation(features: Sequence[Feature], found: Agreed) -> MixedColumns:
    """What every site does to its rows, and to new ones."""
    _require_columns(features, found)
    rows = [found.numbers[one.name] for one in features if isinstance(one, Measured)]
    fill, mean, deviation = np.array(rows).reshape(-1, 3).T
    recorded = np.array([row != _EMPTY for row in rows], dtype=np.bool_)
    scale = AgreedScale(recorded, fill, mean, deviation, sites=found.sites, noised=found.noised)
    return mixed(features, scale, found.levels)


def _number(allowed: Range, tally: Tally, noised: bool) -> tuple[float, float, float]:
    """Fill, mean and deviation of a column whose missing values are filled; nobody recorded an empty one."""
    if not np.maximum(tally.cells, 0).sum():
        return _EMPTY
    fill, (mean, spread) = tally.quantile(0.5), tally.moments(noised=noised)
    present = max(1, tally.present)
    part = max(0, tally.missing) / (present + max(0, tally.missing))  # of the records, filled
    middle = (1 - part) * mean + part * fill
    variance = (1 - part) * (spread**2 + (mean - middle) ** 2) + part * (fill - middle) ** 2
    extent = allowed.high - allowed.low
    deviation = extent * sqrt(variance)
    at = [allowed.low + extent * place for place in (fill, middle)]
    return at[0], at[1], deviation if deviation >= _LEAST_SPREAD * max(1.0, abs(at[1])) else 1.0


def _require_columns(features: Sequence[Feature], found: Agreed) -> None:
    numbers = {one.name for one in features if isinstance(one, Measured)}
    levels = {one.name: one.levels for one in features if not isinstance(one, Measured)}
    fits = found.numbers.keys() == numbers and found.levels.keys() == levels.keys()
    if not fits or any(set(found.levels[name]) - set(known) for name, known in levels.items()):
        raise BadInput("The agreed preparation is of other columns than the table has. Let the sites agree anew.")
