"""How well a score tells members from non-members, with intervals, and with silence where rows are too few.

What matters is how many members are found while hardly anybody is accused falsely (Carlini et al. 2022,
arXiv:2112.03570). A false positive rate of 0.1 % cannot be set with fewer than a thousand non-members, and is not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.intervals import Interval, poisson_weights
from secure_sapefl.metrics import Floats

RESAMPLES = 200
RATES = (0.01, 0.001)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """``tpr`` by false positive rate; None where there are fewer than 1 / rate non-members."""

    members: int
    non_members: int
    auc: Interval
    tpr: dict[float, Interval | None]

    def to_json(self) -> dict[str, Any]:
        return {
            "members": self.members,
            "non_members": self.non_members,
            "auc": self.auc.to_json(),
            "tpr_at_fpr": {f"{rate:g}": None if one is None else one.to_json() for rate, one in self.tpr.items()},
        }


def detection(scores: Floats, member: NDArray[np.bool_], rng: np.random.Generator) -> Detection:
    """Area and true positive rates of "larger is a member"; intervals by a Poisson bootstrap over records."""
    _, level = np.unique(-scores, return_inverse=True)  # ties share a level: no order among them is invented
    weights = np.vstack([np.ones(len(scores)), poisson_weights(len(scores), rng, RESAMPLES)])
    false, true = (_cumulated(weights * kind, level) for kind in (~member, member))
    auc = _area(false, true)
    count = int((~member).sum())
    return Detection(
        members=int(member.sum()),
        non_members=count,
        auc=Interval.from_resamples(auc[0], auc[1:]),
        tpr={rate: _at(false, true, rate) if count * rate >= 1 else None for rate in RATES},
    )


def _cumulated(weights: Floats, level: NDArray[np.int64]) -> Floats:
    """Shares caught at each threshold from the strictest on, a row a resample, [R, levels + 1]."""
    order = np.argsort(level, kind="stable")
    ends = np.flatnonzero(np.diff(level[order], append=-1))
    caught = np.cumsum(weights[:, order], axis=1)[:, ends]
    shares = caught / np.maximum(caught[:, -1:], 1)
    return np.hstack([np.zeros((len(shares), 1)), shares])


def _area(false: Floats, true: Floats) -> Floats:
    return np.asarray((np.diff(false, axis=1) * (true[:, 1:] + true[:, :-1]) / 2).sum(1))


def _at(false: Floats, true: Floats, rate: float) -> Interval:
    """The largest true positive rate whose threshold accuses no more than ``rate`` of the non-members."""
    found = np.where(false <= rate, true, 0.0).max(1)
    return Interval.from_resamples(found[0], found[1:])
