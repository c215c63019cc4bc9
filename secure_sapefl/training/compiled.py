"""Steps of a stack as programs that torch.compile makes of them, for devices on which every operation costs time.

A step hands a device some dozens of operations, and a graphics card takes microseconds for each, however small it is.
Compiled, a step is a few kernels. What torch.compile cannot follow is stepped as it is written: it is named when that
is found out, with the reason, and again in the run's summary. Nothing else changes but the last digits. Steps that are
no plain descent (noised ones, momentum, single gradients of meta-learning) do not come here.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode  # has no public name

from secure_sapefl.models.base import Model
from secure_sapefl.training.objective import Batch, Objective
from secure_sapefl.training.stack_step import StackStep, step_

_VARIANTS: Final = 64  # of a step: by model, objective, and whether one site is left or several


class NotCompiled(UserWarning):
    """A kind of step runs as it is written."""


class CompiledSteps:
    """`step_`, compiled where that is possible. Programs are made when a kind of step is first taken."""

    def __init__(self, backend: str | Callable[..., Any] = "inductor") -> None:
        self._backend, self._compiled = backend, False
        self._program: StackStep | None = None
        self._as_written: dict[str, str] = {}

    def __call__(
        self, model: Model, theta: Tensor, weights: Sequence[Tensor], batch: Batch, objective: Objective, lr: float
    ) -> None:
        kind = f"{type(objective).__name__} on a {type(model).__name__} of {model.parameters} parameters"
        if kind not in self._as_written:
            if _get_current_dispatch_mode() is not None:  # torch.compile would step unasked, and then complain
                self._refuse(kind, "somebody watches torch's operations, and torch.compile stands aside")
            else:
                try:  # all of a step is one program or none is: what fails has changed nothing yet
                    self._made()(model, theta, weights, batch, objective, lr)
                except torch._dynamo.exc.TorchDynamoException as error:  # it has no public name
                    self._refuse(kind, _first_words(error))
                else:
                    self._compiled = True
                    return
        step_(model, theta, weights, batch, objective, lr)

    def _refuse(self, kind: str, why: str) -> None:
        self._as_written[kind] = why
        warnings.warn(f"Steps of {kind} are not compiled, but taken as written: {why}", NotCompiled, stacklevel=3)

    @property
    def told(self) -> str:
        """What became of the steps so far."""
        kinds = "; ".join(f"{kind} ({why})" for kind, why in self._as_written.items())
        if self._compiled:
            return f"plain ones compiled, but for {kinds}" if kinds else "plain ones compiled"
        return f"as written: {kinds}" if kinds else "as written: no plain step of a stack was taken"

    def _made(self) -> StackStep:
        if self._program is None:
            limits = torch._dynamo.config  # as torch's pages name it
            limits.recompile_limit = max(limits.recompile_limit, _VARIANTS)
            warnings.filterwarnings("ignore", "Dynamo detected a call to a `functools.lru_cache`")  # ours are pure
            self._program = torch.compile(step_, fullgraph=True, dynamic=True, backend=self._backend)
        return self._program


def _first_words(error: Exception) -> str:
    """What torch says first, without its advice to developers."""
    first, *more = str(error).strip().splitlines()
    return (f"{first} {more[0]}" if first.endswith(":") and more else first).rstrip(".")
