"""From probabilities to yes or no: a threshold for a named goal, what it does, and whether acting on it helps.

A row is positive where its probability is at or above the threshold. A threshold is chosen on training rows and judged
on others, or it would flatter itself. Net benefit is that of decision curve analysis (Vickers and Elkin 2006,
doi:10.1177/0272989X06295361): true positives, less false ones at the odds of the threshold, for each row.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.errors import BadInput
from secure_sapefl.intervals import Interval
from secure_sapefl.metrics import Floats
from secure_sapefl.worth import judged

Marks = NDArray[np.bool_]
Kind = Literal["sensitivity", "specificity"]
CURVE: Final[Floats] = np.arange(1, 100) / 100


@dataclass(frozen=True, slots=True)
class Goal:
    """At least this ``share`` of positives found, or of negatives left in peace."""

    kind: Kind
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadInput(f"--{self.kind} {self.share:g}: name a share above 0, up to 1; 0.9 is 90 %.")


def threshold_for(goal: Goal, probability: Floats, positive: Marks) -> float:
    """The threshold that keeps the goal on these rows and is worth most otherwise: the highest one for a sensitivity,
    the lowest for a specificity."""
    found, left = probability[positive], probability[~positive]
    if not len(found) or not len(left):
        raise BadInput("The training rows are of one class: no threshold can be chosen on them.")
    if goal.kind == "sensitivity":
        return float(np.sort(found)[len(found) - _needed(goal.share, len(found))])
    rest = np.sort(left)[_needed(goal.share, len(left)) - 1]  # so many negatives, this one among them, must lie below
    above = probability[probability > rest]
    return float(above.min()) if len(above) else float(np.nextafter(rest, np.inf))


def _needed(share: float, rows: int) -> int:
    return int(np.ceil(share * rows - 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operating:
    """What a threshold does on some rows; NaN where there are none of a kind."""

    rows: int
    sensitivity: Interval
    specificity: Interval

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "sensitivity": self.sensitivity.to_json(),
            "specificity": self.specificity.to_json(),
        }


def operating(threshold: float, probability: Floats, positive: Marks) -> Operating:
    flagged = probability >= threshold
    return Operating(
        rows=len(positive),
        sensitivity=_share(flagged[positive]),
        specificity=_share(~flagged[~positive]),
    )


def _share(right: Marks) -> Interval:
    return judged(float(right.mean()) if len(right) else math.nan, len(right))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCurve:
    """Net benefit at each threshold probability, against treating everybody; treating nobody is 0 everywhere."""

    thresholds: Floats
    model: Floats
    everybody: Floats

    def lines(self) -> list[tuple[float, float, float, float]]:
        return [
            (float(at), float(own), float(every), 0.0)
            for at, own, every in zip(self.thresholds, self.model, self.everybody, strict=True)
        ]


def decision_curve(probability: Floats, positive: Marks, thresholds: Floats = CURVE) -> DecisionCurve:
    if not len(positive):
        raise BadInput("There are no test rows to draw a decision curve of.")
    flagged = probability >= thresholds[:, None]
    odds = thresholds / (1 - thresholds)
    return DecisionCurve(
        thresholds=thresholds,
        model=(flagged & positive).mean(1) - (flagged & ~positive).mean(1) * odds,
        everybody=positive.mean() - (~positive).mean() * odds,
    )
