"""Every task a simulation may name: ours, one in a file of the user's own, and those of installed packages.

A deployed study names one of ours (`builtin.py`) and never comes here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from secure_sapefl import plugins
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.own_code import load, names_own_code, own_function
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import TASKS


@dataclass(frozen=True, slots=True)
class Found:
    """``sources`` are digests of what is not ours, for a run's identity."""

    task: Task
    sources: Mapping[str, str]


def find(name: str) -> Found:
    """``name`` is ours, FILE.py (with a ``TASK``), FILE.py:NAME, package.module:NAME, or installed."""
    if name in TASKS:
        return Found(TASKS[name], {})
    own = load(name, "task") if names_own_code(name) else plugins.find("task", name)
    if own is None:
        raise UnknownName("task", name, {*TASKS, *plugins.offered("task")})
    if not isinstance(own.value, Task):
        raise BadInput(
            f"The task {own.name!r} is {type(own.value).__name__}, expected a Task of secure_sapefl.tasks.base."
        )
    return Found(own.value, {"task": own.digest})


def given(task: Task) -> Found:
    """One that was passed as it is."""
    if TASKS.get(task.name) is task:
        return Found(task, {})
    loss = task.record_loss or task.batch_loss
    assert loss is not None  # or there would be no such task
    return Found(task, {"task": own_function(loss).digest})
