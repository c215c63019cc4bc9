"""Per-site accuracy, AUC and their kin, each with its direction, and their unweighted mean and spread over sites.

AUC is macro one-vs-rest on softmax outputs. A class without a positive or without a negative among a site's test
rows has no ROC curve there and is left out of that site's mean; a site left with no class has no AUC (NaN) and is
left out of the mean over sites, which says how many remain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
_BINS: Final = 10


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


def balanced_accuracy(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """The mean, over the classes that occur, of the share of their rows that is found."""
    right = outputs.argmax(1) == y
    return _mean([float(right[y == k].mean()) for k in np.unique(y)])


def average_precision(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Sum over thresholds of precision times the recall gained there, one class against the rest, mean over the classes
    that have rows of both kinds."""
    scores = softmax(outputs)
    classes = [k for k in range(scores.shape[1]) if 0 < np.count_nonzero(y == k) < len(y)]
    return _mean([_precision(scores[:, k], y == k) for k in classes])


def _precision(scores: Floats, positive: NDArray[np.bool_]) -> float:
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(positive[order])
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # rows of one score stand together
    gained = np.diff(found[ends], prepend=0) / found[-1]
    return float((found[ends] / (ends + 1) * gained).sum())


def brier_score(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Mean squared distance of the probabilities from the label's (Brier 1950), summed over classes: 0 to 2."""
    if not len(y):
        return float("nan")
    return float(np.square(softmax(outputs) - np.eye(outputs.shape[1])[y]).sum(1).mean())


def calibration_error(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """How far confidence and accuracy lie apart on average, over ten bins of confidence (Guo et al. 2017,
    arXiv:1706.04599)."""
    if not len(y):
        return float("nan")
    probabilities = softmax(outputs)
    sure, right = probabilities.max(1), probabilities.argmax(1) == y
    bins = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    gaps = [np.abs(sure[bins == b].sum() - np.count_nonzero(right[bins == b])) for b in np.unique(bins)]
    return float(np.sum(gaps) / len(y))


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    title: str
    higher_is_better: bool
    measure: Callable[[NDArray[np.float32], NDArray[np.int64]], float]

    def better(self, one: float, other: float) -> bool:
        return one > other if self.higher_is_better else one < other


METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric(name="accuracy", title="accuracy", higher_is_better=True, measure=accuracy),
            Metric(
                name="balanced_accuracy", title="balanced accuracy", higher_is_better=True, measure=balanced_accuracy
            ),
            Metric(name="auc", title="AUC", higher_is_better=True, measure=lambda z, y: macro_auc(softmax(z), y)),
            Metric(
                name="average_precision", title="average precision", higher_is_better=True, measure=average_precision
            ),
            Metric(name="brier", title="Brier score", higher_is_better=False, measure=brier_score),
            Metric(
                name="calibration_error", title="calibration error", higher_is_better=False, measure=calibration_error
            ),
        )
    }
)


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
    metrics: Mapping[str, Spread] = field(default_factory=dict)  # by name, these two among them

    @classmethod
    def from_outputs(cls, outputs: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]]]) -> "Scores":
        found = {
            name: Spread(tuple(metric.measure(logits, y) for logits, y in outputs)) for name, metric in METRICS.items()
        }
        return cls(found["accuracy"], found["auc"], found)
