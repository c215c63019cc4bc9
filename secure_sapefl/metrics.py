"""Accuracy, AUC, mean errors and their kin for one site's test rows, each with its direction, and their unweighted mean
and spread over sites.

Outputs are what a model answers: logits of classes, log-odds of labels that are yes or no, or numbers in the label's
units. AUC is macro one-vs-rest on softmax outputs. A class without a positive or without a negative among a site's test
rows has no ROC curve there and is left out of that site's mean; a site left with no class has no AUC (NaN) and is
left out of the mean over sites, which says how many remain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
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
    return _macro_auc(probabilities, y[:, None] == np.arange(probabilities.shape[1]))


def _macro_auc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    n_positive = positive.sum(0)
    n_negative = len(positive) - n_positive
    defined = (n_positive > 0) & (n_negative > 0)
    if not defined.any():
        return float("nan")
    ordered, hits = _in_order(scores[:, defined], positive[:, defined])
    n_positive, n_negative = n_positive[defined], n_negative[defined]
    rank_sums = (_ranks(ordered) * hits).sum(0)
    return float(np.mean((rank_sums - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)))


def average_ranks(values: Floats) -> Floats:
    """From 1 for the least of a column; equal values share the mean of their ranks, and one NaN makes all of its column
    NaN. (That of scipy.stats would take every process a second to load.)"""
    order = np.argsort(values, axis=0)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, _ranks(np.take_along_axis(values, order, axis=0)), axis=0)
    return ranks


def _in_order(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Every column's scores from the least on, and which of them are of positive rows."""
    order = np.argsort(scores, axis=0), np.arange(scores.shape[1])
    return scores[order], positive[order]


def _ranks(ordered: Floats) -> Floats:
    """Of sorted columns; NaN, which is sorted last, makes all of its column NaN."""
    first, last = _ties(ordered)
    return np.where(np.isnan(ordered[-1:]), np.nan, (first + last) / 2 + 1)


def _ties(ordered: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the run of equal values begins and ends that each value of a sorted column stands in; one column does for
    all where no value stands twice."""
    places = np.arange(len(ordered)).reshape(-1, *[1] * (ordered.ndim - 1))
    differ = ordered[1:] != ordered[:-1]
    if differ.all():
        return places, places
    begins, ends = np.ones(ordered.shape, bool), np.ones(ordered.shape, bool)
    begins[1:] = ends[:-1] = differ
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=0)
    return first, np.minimum.accumulate(np.where(ends, places, len(ordered))[::-1], axis=0)[::-1]


def balanced_accuracy(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """The mean, over the classes that occur, of the share of their rows that is found."""
    if not len(y):
        return float("nan")
    rows, right = np.bincount(y), np.bincount(y, outputs.argmax(1) == y)
    return float(np.mean(right[rows > 0] / rows[rows > 0]))


def average_precision(outputs: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Sum over thresholds of precision times the recall gained there, one class against the rest, mean over the classes
    that have rows of both kinds."""
    return _mean_precision(softmax(outputs), y[:, None] == np.arange(outputs.shape[1]))


def _both_kinds(positive: NDArray[np.bool_]) -> list[int]:
    """Columns that have rows of both kinds."""
    return [k for k in range(positive.shape[1]) if 0 < np.count_nonzero(positive[:, k]) < len(positive)]


def _mean_precision(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """All columns at once: the mean, over a column's positive rows, of the precision at their score, which is the share
    of positive rows among those that score as high."""
    kept = positive.any(0) & ~positive.all(0)
    if not kept.any():
        return float("nan")
    ordered, hits = _in_order(scores[:, kept], positive[:, kept])
    first = _ties(ordered)[0]
    as_high = np.cumsum(hits[::-1], axis=0)[::-1]
    as_high = as_high if first.shape != hits.shape else np.take_along_axis(as_high, first, axis=0)
    precision = as_high / (len(hits) - first)
    return float(np.mean((precision * hits).sum(0) / hits.sum(0)))


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
    return _gaps(probabilities.max(1), probabilities.argmax(1) == y)


def _gaps(sure: Floats, right: NDArray[np.bool_]) -> float:
    if not np.isfinite(sure).all():
        return float("nan")  # a model that answers with no number is sure of nothing
    bins = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    return float(np.abs(np.bincount(bins, sure - right)).sum() / len(sure))


def sigmoid(outputs: NDArray[np.float32]) -> Floats:
    return np.asarray((1 + np.tanh(outputs.astype(np.float64) / 2)) / 2)


def label_accuracy(outputs: Array, y: Array) -> float:
    """The share of answers that are right, over rows and labels (1 - Hamming loss)."""
    return float(np.mean((outputs > 0) == (y > 0))) if len(y) else float("nan")


def label_balanced_accuracy(outputs: Array, y: Array) -> float:
    """The mean of sensitivity and specificity, over the labels that have both."""
    right, positive = (outputs > 0) == (y > 0), y > 0
    kept = _both_kinds(positive)
    return _mean([(right[positive[:, k], k].mean() + right[~positive[:, k], k].mean()) / 2 for k in kept])


def label_auc(outputs: Array, y: Array) -> float:
    return _macro_auc(outputs.astype(np.float64), y > 0)


def label_average_precision(outputs: Array, y: Array) -> float:
    return _mean_precision(outputs.astype(np.float64), y > 0)


def label_brier(outputs: Array, y: Array) -> float:
    """Mean squared distance of a label's probability from 0 or 1: 0 to 1."""
    return float(np.square(sigmoid(outputs) - y).mean()) if len(y) else float("nan")


def label_calibration_error(outputs: Array, y: Array) -> float:
    """As `calibration_error`, of the probability of yes, over rows and labels."""
    return _gaps(sigmoid(outputs).ravel(), (y > 0).ravel()) if len(y) else float("nan")


def mean_absolute_error(outputs: Array, y: Array) -> float:
    return float(np.abs(outputs - y).mean()) if len(y) else float("nan")


def root_mean_squared_error(outputs: Array, y: Array) -> float:
    return float(np.sqrt(np.square(outputs - y).mean())) if len(y) else float("nan")


def r_squared(outputs: Array, y: Array) -> float:
    """1 - the squared error by that of the site's own mean, over the columns that vary; below 0 the mean is better."""
    if not len(y):
        return float("nan")
    around_mean = np.square(y - y.mean(0)).sum(0)
    varies = around_mean > 0
    return _mean((1 - np.square(outputs - y).sum(0)[varies] / around_mean[varies]).tolist())


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """``measure`` reads a model's outputs and the labels of one site's test rows."""

    name: str
    title: str
    higher_is_better: bool
    measure: Callable[[Array, Array], float]
    percent: bool = False  # a share that readers expect in percent

    def better(self, one: float, other: float) -> bool:
        return one > other if self.higher_is_better else one < other

    def facts(self) -> dict[str, object]:
        """What a reader of `summary.json` needs to know of it."""
        return {"title": self.title, "higher_is_better": self.higher_is_better, "percent": self.percent}


def _metric(name: str, title: str, measure: Callable[[Array, Array], float], *, higher: bool) -> Metric:
    return Metric(name=name, title=title, higher_is_better=higher, measure=measure, percent=name == "accuracy")


METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            _metric("accuracy", "accuracy", accuracy, higher=True),
            _metric("balanced_accuracy", "balanced accuracy", balanced_accuracy, higher=True),
            _metric("auc", "AUC", lambda z, y: macro_auc(softmax(z), y), higher=True),
            _metric("average_precision", "average precision", average_precision, higher=True),
            _metric("brier", "Brier score", brier_score, higher=False),
            _metric("calibration_error", "calibration error", calibration_error, higher=False),
        )
    }
)
"""Of a classification, by name."""
CLASS_METRICS: Final = tuple(sorted(METRICS.values(), key=lambda metric: metric.name not in ("accuracy", "auc")))
"""The same, those first that are shown everywhere."""
LABEL_METRICS: Final = (
    _metric("accuracy", "accuracy over labels", label_accuracy, higher=True),
    _metric("auc", "AUC", label_auc, higher=True),
    _metric("balanced_accuracy", "balanced accuracy", label_balanced_accuracy, higher=True),
    _metric("average_precision", "average precision", label_average_precision, higher=True),
    _metric("brier", "Brier score", label_brier, higher=False),
    _metric("calibration_error", "calibration error", label_calibration_error, higher=False),
)
ERRORS: Final = (
    _metric("mae", "MAE", mean_absolute_error, higher=False),
    _metric("r2", "R²", r_squared, higher=True),
    _metric("rmse", "RMSE", root_mean_squared_error, higher=False),
)


_TITLES: Final = {metric.name: metric.title for metric in (*CLASS_METRICS, *ERRORS)}


def title_of(name: str) -> str:
    """Of a metric whose name alone is known; one of somebody's own is called by its name."""
    return _TITLES.get(name, name.replace("_", " "))


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


NOBODY: Final = Spread(())


@dataclass(frozen=True, slots=True)
class Scores:
    """How a set of models does on every site's test rows, by every metric of its task, the main one first."""

    metrics: Mapping[str, Spread] = field(default_factory=dict)

    @classmethod
    def from_outputs(
        cls, outputs: Sequence[tuple[Array, Array]], metrics: Sequence[Metric] = CLASS_METRICS
    ) -> "Scores":
        """``outputs`` and labels of each site; numbers in the label's units."""
        return cls({one.name: Spread(tuple(one.measure(answers, y) for answers, y in outputs)) for one in metrics})

    @property
    def accuracy(self) -> Spread:
        """Empty where a task has no such thing, as `auc`."""
        return self.metrics.get("accuracy", NOBODY)

    @property
    def auc(self) -> Spread:
        return self.metrics.get("auc", NOBODY)

    @property
    def main(self) -> Spread:
        """What a model is judged by first: the accuracy of a classification."""
        return next(iter(self.metrics.values()), NOBODY)

    @property
    def evaluated(self) -> bool:
        """Whether anybody was scored; not in a round that is passed over."""
        return any(spread.per_client for spread in self.metrics.values())

    def to_json(self) -> dict[str, object]:
        return {name: spread.to_json() for name, spread in self.metrics.items()}
