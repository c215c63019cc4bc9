"""Who gained? Sentences chosen by the numbers: nothing here knows how the study ends."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from common import listed, signed
from heart_hospitals.study import TITLES, Contender, Study, budget

from secure_sapefl.intervals import Interval

CHANCE = 0.025  # of a 95 % interval that lies above zero though there is nothing: one side of it
Side = Callable[[Interval], bool]
FEW = 20  # patients of one outcome, below which an AUC hangs on single ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a hospital's AUC gained over training alone."""

    contender: Contender
    hospital: str
    interval: Interval

    def __str__(self) -> str:
        low, high = signed(self.interval.low), signed(self.interval.high)
        return f"{self.hospital} by {TITLES[self.contender.method]} ({signed(self.interval.value)}, {low} to {high})"


def gains_of(study: Study) -> list[Gain]:
    return [
        Gain(contender=c, hospital=hospital, interval=study.gain(c, hospital))
        for c in sorted(study.together, key=lambda c: c.epsilon)
        for hospital in study.hospitals
    ]


def conclusion(gains: list[Gain], patients: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """A paragraph a budget, then all of them together, then what the numbers cannot say."""
    for epsilon, group in groupby(gains, key=lambda gain: gain.contender.epsilon):
        yield _at(epsilon, list(group))
    yield _together(gains)
    few = [f"{name} ({min(counts)})" for name, counts in patients.items() if min(counts) < FEW]
    if few:
        yield (
            f"With fewer than {FEW} patients of one outcome to test, an AUC hangs on single patients: {listed(few)}. "
            "Nothing should be decided there on these numbers."
        )


def _at(epsilon: float, gains: list[Gain]) -> str:
    up, down = ([g for g in gains if side(g.interval)] for side in (_above, _below))
    parts = [f"{word}: {'; '.join(map(str, group))}." for word, group in (("Gained", up), ("Lost", down)) if group]
    rest = len(gains) - len(up) - len(down)
    parts.append(f"No clear difference from training alone in {rest} of {len(gains)} comparisons.")
    return f"ε = {budget(epsilon)}. {' '.join(parts)}"


def _together(gains: list[Gain]) -> str:
    up, down = (sum(side(g.interval) for g in gains) for side in (_above, _below))
    chance = CHANCE * len(gains)
    counted = (
        f"In {len(gains)} comparisons, clear gains: {up}, clear losses: {down}; by chance about {chance:.1f} of each. "
    )
    match up > chance, down > chance:
        case False, False:
            return counted + "Nobody's gain or loss can be told from chance here."
        case True, False:
            return counted + f"Learning together helped {_who(gains, _above)}, and hurt nobody beyond chance."
        case False, True:
            return counted + f"Learning together hurt {_who(gains, _below)}, and helped nobody beyond chance."
    return counted + f"It depends: it helped {_who(gains, _above)}, and hurt {_who(gains, _below)}."


def _who(gains: list[Gain], side: Side) -> str:
    """Hospitals, each with the budgets at which it shows."""
    budgets: dict[str, dict[str, None]] = {}
    for gain in gains:
        if side(gain.interval):
            budgets.setdefault(gain.hospital, {})[budget(gain.contender.epsilon)] = None
    return listed([f"{hospital} (ε = {listed(list(at))})" for hospital, at in budgets.items()])


def _above(interval: Interval) -> bool:
    return interval.low > 0


def _below(interval: Interval) -> bool:
    return interval.high < 0
