"""One model on a site's held-out rows: every metric of the task, and how sure those are that are shown first.

A share of rows that are classified right has Wilson's interval, an AUC of two classes a bootstrap stratified by class;
whatever else a task is judged by, the bootstrap over rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.intervals import Interval, bootstrap_rows
from secure_sapefl.metrics import Array, Floats, Metric, softmax
from secure_sapefl.report.auc_interval import Ranked, auc_interval
from secure_sapefl.site.evaluation.judged import Measures, measures
from secure_sapefl.tasks.base import Task
from secure_sapefl.worth import judged as share

_UNKNOWN: Final = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """``answers`` are outputs as people read them: probabilities, or numbers in the label's units. ``sure`` has the
    intervals of the task's first metrics."""

    outputs: Array
    answers: Floats
    found: Measures
    sure: Mapping[str, Interval]

    def to_json(self) -> dict[str, Any]:
        metrics = {name: None if math.isnan(value) else value for name, value in self.found.items()}
        return {name: _finite(one) for name, one in self.sure.items()} | {"metrics": metrics}


def judged_model(task: Task, outputs: Array, y: Array) -> Model:
    first, found = task.metrics[:2], measures(outputs, y, task.metrics)
    sure = _of_classes(found, outputs, y) if task.labels == "class" else _of_rows(first, outputs, y)
    return Model(outputs=outputs, answers=np.asarray(task.read(outputs)), found=found, sure=sure)


def _of_classes(found: Measures, outputs: Array, y: Array) -> dict[str, Interval]:
    return {"accuracy": share(found["accuracy"], len(y)), "auc": _auc(outputs, y)}


def _of_rows(metrics: Sequence[Metric], outputs: Array, y: Array) -> dict[str, Interval]:
    return {one.name: bootstrap_rows(_measured(one, outputs, y), len(y)) for one in metrics}


def _measured(metric: Metric, outputs: Array, y: Array) -> Callable[[NDArray[np.int64]], float]:
    """What the metric makes of some of the rows."""
    return lambda rows: metric.measure(outputs[rows], y[rows])


def _auc(outputs: Array, y: Array) -> Interval:
    """Of two classes; of more there is no interval."""
    if outputs.shape[1] != 2 or len(np.unique(y)) < 2:
        return _UNKNOWN
    return auc_interval([Ranked(patient=np.arange(len(y)), positive=y == 1, score=softmax(outputs)[:, 1])])


def _finite(found: Interval) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in found.to_json().items()}
