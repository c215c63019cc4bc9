"""Per-site accuracy and AUC, and their unweighted mean and spread over sites.

AUC is macro one-vs-rest on softmax outputs. A class without a positive or without a negative among a site's test
rows has no ROC curve there and is left out of that site's mean; a site left with no class has no AUC (NaN) and is
left out of the mean over sites, which says how many remain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def accuracy(logits: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    return float(np.mean(logits.argmax(1) == y)) if len(y) else float("nan")


def softmax(logits: NDArray[np.float32]) -> Floats:
    shifted = logits.astype(np.float64) - logits.max(1, keepdims=True)
    powers = np.exp(shifted)
    return np.asarray(powers / powers.sum(1, keepdims=True))


def macro_auc(probabilities: Floats, y: NDArray[np.int64]) -> float:
    """Mean over the classes that have both kinds of rows of P(score of a positive > score of a negative), ties half.

    All classes at once by the rank-sum identity: AUC = (R_+ - n_+ (n_+ + 1) / 2) / (n_+ n_-).
    """
    positive = y[:, None] == np.arange(probabilities.shape[1])
    n_positive = positive.sum(0)
    n_negative = len(y) - n_positive
    defined = (n_positive > 0) & (n_negative > 0)
    if not defined.any():
        return float("nan")
    ranks = rankdata(probabilities[:, defined], axis=0)
    n_positive, n_negative = n_positive[defined], n_negative[defined]
    rank_sums = (ranks * positive[:, defined]).sum(0)
    return float(np.mean((rank_sums - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)))


@dataclass(frozen=True, slots=True)
class Spread:
    """One number a site, with the unweighted mean and standard deviation over the sites that have it."""

    per_client: tuple[float, ...]

    @property
    def defined(self) -> Floats:
        values = np.asarray(self.per_client, dtype=np.float64)
        return values[~np.isnan(values)]

    @property
    def mean(self) -> float:
        return float(self.defined.mean()) if len(self.defined) else float("nan")

    @property
    def std(self) -> float:
        return float(self.defined.std()) if len(self.defined) else float("nan")

    def to_json(self) -> dict[str, object]:
        return {
            "mean": _or_null(self.mean),
            "std": _or_null(self.std),
            "defined": len(self.defined),
            "per_client": [_or_null(value) for value in self.per_client],
        }


def _or_null(value: float) -> float | None:
    return None if np.isnan(value) else value


@dataclass(frozen=True, slots=True)
class Scores:
    """How a set of models does on every site's test rows."""

    accuracy: Spread
    auc: Spread

    @classmethod
    def from_outputs(cls, outputs: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]]]) -> "Scores":
        return cls(
            Spread(tuple(accuracy(logits, y) for logits, y in outputs)),
            Spread(tuple(macro_auc(softmax(logits), y) for logits, y in outputs)),
        )
