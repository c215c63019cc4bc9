"""Was it worth it for this site? Three numbers with their intervals, and one sentence a person can act on.

Alone: a model of the site's own rows. Common: one model for all sites. Own: the site's personal model from the study.
Intervals are those of a share of test rows (Wilson 1927). Where two of them do not touch, the difference is more than
the luck of these rows; where they do, the sentence says so instead of naming a winner.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from secure_sapefl.intervals import Interval, wilson

ALONE: Final = "local"
COMMON: Final = ("fedavg", "fedprox")  # methods whose sites all use one model


def judged(share: float, rows: int) -> Interval:
    """A share of ``rows`` test rows with its interval; NaN where there is none."""
    if math.isnan(share) or rows < 1:
        return Interval(math.nan, math.nan, math.nan)
    return Interval(share, *wilson(share, rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a site has to choose from, on its own test rows. ``common`` is None where a method has no common model."""

    alone: Interval
    common: Interval | None
    own: Interval

    @property
    def verdict(self) -> str:
        return self.said_of("its own model", "this site should keep to itself")

    def said_of(self, own_model: str, alone: str) -> str:
        """One sentence about ``own_model``, which the reader can act on; ``alone`` is the advice to stay away."""
        shared = () if self.common is None else (self.common,)
        if any(math.isnan(one.value) for one in (self.alone, *shared, self.own)):
            return "no test rows to judge by; hold some back before deciding"
        found = f"{_against(self.own, self.alone)} alone"
        if self.common is not None:
            found += f" and {_against(self.own, self.common)} one common model"
        return f"{own_model} is {found}; {self._conclusion(own_model, alone)}"

    def _conclusion(self, own_model: str, alone: str) -> str:
        best = self.own if self.common is None or self.own.value >= self.common.value else self.common
        if best.low > self.alone.high:
            which = own_model if best is self.own else "the common model"
            return f"intervals apart from training alone: taking part pays here, use {which}"
        if self.alone.low > best.high:
            return f"training alone is better by more than chance: {alone}"
        if best.value > self.alone.value:
            return "intervals overlap: a gain is possible, these test rows do not prove it"
        return "intervals overlap; nothing gained here"


def verdict_of(found: Sequence[tuple[str, Interval]]) -> str | None:
    """For one site, of methods and what each came to, in the order of a comparison; None where training alone, a common
    and a personal model were not all compared. Of the first personal method named: choosing the one that did best would
    choose the luckiest."""
    first = {_kind(method): interval for method, interval in reversed(found)}
    if len(first) < 3:
        return None
    return Worth(alone=first["alone"], common=first["common"], own=first["own"]).verdict


def _kind(method: str) -> str:
    return "alone" if method == ALONE else "common" if method in COMMON else "own"


def _against(one: Interval, other: Interval) -> str:
    points = round(100 * (one.value - other.value), 1)
    if points == 0:
        return "as good as"
    return f"{abs(points):.1f} points {'better' if points > 0 else 'worse'} than"
