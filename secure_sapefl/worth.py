"""Was it worth it for this site? Three numbers with their intervals, and one sentence a person can act on.

Alone: a model of the site's own rows. Common: one model for all sites. Own: the site's personal model from the study.
Intervals say what these test rows can tell; that of a share is Wilson's (1927). Where two of them do not touch, the
difference is more than the luck of these rows; where they do, the sentence says so instead of naming a winner.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from secure_sapefl.intervals import Interval, wilson
from secure_sapefl.metrics import METRICS

ALONE: Final = "local"
COMMON: Final = ("fedavg", "fedprox")  # methods whose sites all use one model


def judged(share: float, rows: int) -> Interval:
    """A share of ``rows`` test rows with its interval; NaN where there is none."""
    if math.isnan(share) or rows < 1:
        return Interval(math.nan, math.nan, math.nan)
    return Interval(share, *wilson(share, rows))


class Measure(Protocol):
    """What three models are held against each other by: a metric, or one as pages show it."""

    @property
    def title(self) -> str: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def percent(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a site has to choose from, on its own test rows. ``common`` is None where a method has no common model."""

    alone: Interval
    common: Interval | None
    own: Interval
    by: Measure = METRICS["accuracy"]

    @property
    def verdict(self) -> str:
        return self.said_of("its own model", "this site should keep to itself")

    def said_of(self, own_model: str, alone: str) -> str:
        """One sentence about ``own_model``, which the reader can act on; ``alone`` is the advice to stay away."""
        shared = () if self.common is None else (self.common,)
        if any(math.isnan(one.value) for one in (self.alone, *shared, self.own)):
            return "no test rows to judge by; hold some back before deciding"
        found = f"{self._against(self.alone)} alone"
        if self.common is not None:
            found += f" and {self._against(self.common)} one common model"
        return f"{own_model} is {found}; {self._conclusion(own_model, alone)}"

    def _conclusion(self, own_model: str, advice: str) -> str:
        alone, own = self._upwards(self.alone), self._upwards(self.own)
        common = own if self.common is None else self._upwards(self.common)
        best, which = (common, "the common model") if _above(common.value, own.value) else (own, own_model)
        if best.low > alone.high:
            return f"intervals apart from training alone: taking part pays here, use {which}"
        if alone.low > best.high:
            return f"training alone is better by more than chance: {advice}"
        if _above(best.value, alone.value):
            return f"intervals overlap: a gain by {which} is possible, these test rows do not prove it"
        return "intervals overlap; nothing gained here"

    def _upwards(self, found: Interval) -> Interval:
        """As numbers of which higher is better."""
        return found if self.by.higher_is_better else Interval(-found.value, -found.high, -found.low)

    def _against(self, other: Interval) -> str:
        gain = self._upwards(self.own).value - self._upwards(other).value
        size = f"{abs(100 * gain):.1f}" if self.by.percent else f"{abs(gain):.3g}"
        if float(size) == 0:
            return "as good as"
        what = "points {}" if self.by.percent else f"{{}} in {self.by.title}"
        return f"{size} {what.format('better' if gain > 0 else 'worse')} than"


def _above(one: float, other: float) -> bool:
    """By more than the rounding of a mean over seeds."""
    return one > other and not math.isclose(one, other, rel_tol=1e-9)


def verdict_of(found: Sequence[tuple[str, Interval]], by: Measure = METRICS["accuracy"]) -> str | None:
    """For one site, of methods and what each came to, in the order of a comparison; None where training alone, a common
    and a personal model were not all compared. Of the first personal method named: choosing the one that did best would
    choose the luckiest."""
    first = {_kind(method): interval for method, interval in reversed(found)}
    if len(first) < 3:
        return None
    return Worth(alone=first["alone"], common=first["common"], own=first["own"], by=by).verdict


def _kind(method: str) -> str:
    return "alone" if method == ALONE else "common" if method in COMMON else "own"
