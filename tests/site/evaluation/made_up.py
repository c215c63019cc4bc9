"""Findings of a site that was never asked: three models of known worth on made-up test rows."""

import numpy as np

from secure_sapefl.metrics import Array
from secure_sapefl.site.evaluation.findings import Findings
from secure_sapefl.site.evaluation.judged import judge
from secure_sapefl.site.evaluation.models import judged_model
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, REGRESSION


def found(classes: int = 2, rows: int = 40) -> Findings:
    y = np.arange(rows) % classes
    return _found(CLASSIFICATION, tuple("abcdef"[:classes]), np.eye(classes)[y] * 3, y)


def found_labels(rows: int = 40) -> Findings:
    """Two labels that are yes or no."""
    y = np.stack([np.arange(rows) % 2, np.arange(rows) % 3 == 0], 1).astype(np.float32)
    return _found(MULTILABEL, ("pain", "fever"), 6 * y - 3, y)


def found_numbers(rows: int = 40) -> Findings:
    """One number, in its units."""
    y = np.linspace(50, 90, rows)[:, None]
    return _found(REGRESSION, ("pressure",), y + 1, y)


def _found(task: Task, labels: tuple[str, ...], right: Array, y: Array) -> Findings:
    rng = np.random.default_rng(1)
    answers = {
        "alone": right + rng.normal(size=right.shape) * 8,
        "common": right + rng.normal(size=right.shape) * 2,
        "own": right,
    }
    models = {name: judged_model(task, one.astype(np.float32), y) for name, one in answers.items()}
    history = tuple(
        judge(k, y, models["own"].outputs, models["common"].outputs, metrics=task.metrics) for k in range(2)
    )
    return Findings(
        site="north",
        rounds=2,
        over=True,
        task=task,
        labels=labels,
        y=y,
        models=models,
        now=history[-1],
        history=history,
    )
