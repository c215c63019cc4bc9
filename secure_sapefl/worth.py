"""Was it worth it for this site? Three numbers with their intervals, and one sentence a person can act on.

Alone: a model of the site's own rows. Common: one model for all sites. Own: the site's personal model from the study.
Intervals are those of a share of test rows (Wilson 1927). Where two of them do not touch, the difference is more than
the luck of these rows; where they do, the sentence says so instead of naming a winner.
"""

import math
from dataclasses import dataclass

from secure_sapefl.intervals import Interval, wilson


def judged(share: float, rows: int) -> Interval:
    """A share of ``rows`` test rows with its interval; NaN where there is none."""
    if math.isnan(share) or rows < 1:
        return Interval(math.nan, math.nan, math.nan)
    return Interval(share, *wilson(share, rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a site has to choose from, on its own test rows."""

    alone: Interval
    common: Interval
    own: Interval

    @property
    def verdict(self) -> str:
        if any(math.isnan(one.value) for one in (self.alone, self.common, self.own)):
            return "no test rows to judge by; hold some back before deciding"
        found = f"{_against(self.own, self.alone)} alone and {_against(self.own, self.common)} one common model"
        return f"its own model is {found}; {self._conclusion}"

    @property
    def _conclusion(self) -> str:
        best = self.own if self.own.value >= self.common.value else self.common
        if best.low > self.alone.high:
            which = "use its own model" if best is self.own else "use the common model"
            return f"intervals apart from training alone: taking part pays here, {which}"
        if self.alone.low > best.high:
            return "training alone is better by more than chance: this site should keep to itself"
        if best.value > self.alone.value:
            return "intervals overlap: a gain is possible, these test rows do not prove it"
        return "intervals overlap; nothing gained here"


def _against(one: Interval, other: Interval) -> str:
    points = round(100 * (one.value - other.value), 1)
    if points == 0:
        return "as good as"
    return f"{abs(points):.1f} points {'better' if points > 0 else 'worse'} than"
