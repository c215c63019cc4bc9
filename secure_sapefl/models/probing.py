"""What a module does, found out by letting it answer a few made-up rows."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description, Model, joined, loaded
from secure_sapefl.models.keyed import KeyedDraws
from secure_sapefl.models.taps import LinearTaps, Product


def made_up(shape: tuple[int, ...], *leading: int) -> Tensor:
    """Rows between 0 and 1, always the same: small numbers, since they may be read as codes."""
    return torch.rand((*leading, *shape), generator=torch.Generator().manual_seed(0))


def draws(module: nn.Module, about: Description) -> bool:
    """Whether a pass in training meets a dropout."""
    x = made_up(about.shape, 2)
    with torch.no_grad(), KeyedDraws(None) as met:
        module(x)
    return bool(met.drawn)


def widest(module: nn.Module, about: Description) -> int:
    """Values the largest layer's answer has for a row."""
    sizes = [math.prod(about.shape)]

    def note(_: nn.Module, __: object, answer: object) -> None:
        if isinstance(answer, Tensor):
            sizes.append(answer.numel() // 2)

    x = made_up(about.shape, 2)
    handles = [layer.register_forward_hook(note) for layer in module.modules()]
    try:
        with torch.no_grad(), KeyedDraws(None):
            module(x)
    finally:
        for handle in handles:
            handle.remove()
    return max(1, *sizes)


class Stacks(Model, Protocol):
    def tapped(self, weights: Sequence[Tensor], x: Tensor, keys: Tensor) -> tuple[Tensor, LinearTaps]:
        """As `ModuleModel` has it."""


class Trial:
    """Two sites with made-up weights and rows: a stack's gradients beside those of the sites' modules."""

    def __init__(self, model: Model, about: Description) -> None:
        away = 0.1 * made_up((model.parameters,), 2)  # while weights are zero, what is before them learns nothing
        self._theta = model.initial(np.random.default_rng()) + away
        self._x, self._keys = made_up(about.shape, 2, 2), torch.arange(2)
        self._slope = made_up((about.outputs,), 2, 2) - 0.5
        self._expected = joined([torch.stack(pair) for pair in zip(*self._of_modules(model), strict=True)])

    def agrees(self, model: Model) -> bool:
        """By autograd."""
        weights = self._weights(model)
        answers = model.apply(weights, self._x, self._keys)
        return self._agree(torch.autograd.grad(answers, weights, self._slope, **_ZEROS))

    def agrees_by_taps(self, model: Stacks) -> bool:
        answers, taps = model.tapped(self._weights(model), self._x, self._keys)
        found = taps.gradients(answers, self._slope)
        return self._agree([one.written() if isinstance(one, Product) else one for one in found])

    def _of_modules(self, model: Model) -> Iterator[tuple[Tensor, ...]]:
        """What torch finds where a module holds its weights."""
        for theta, x, key, slope in zip(self._theta, self._x, self._keys, self._slope, strict=True):
            module = loaded(model, theta)
            yield torch.autograd.grad(model.call(module, x, key), model.weights_of(module), slope, **_ZEROS)

    def _weights(self, model: Model) -> list[Tensor]:
        return [view.requires_grad_() for view in model.views(self._theta.clone())]

    def _agree(self, gradients: Sequence[Tensor]) -> bool:
        """Half precision inside a model rounds otherwise when several are side by side, and nothing else does."""
        known = self._expected.isfinite()
        apart = torch.where(known, joined(gradients) - self._expected, 0).norm()
        return bool(apart <= 1e-2 * torch.where(known, self._expected, 0).norm() + 1e-6)


_ZEROS: Final[Mapping[str, Any]] = {"allow_unused": True, "materialize_grads": True}


def why_not_stacked(model: Stacks, trial: Trial) -> str | None:
    """None, or which operator vmap has no rule for, forward or backward: its fallback would go site by site anyway. Or
    that a stack has other gradients than its modules, as hooks on the way back can make it."""
    try:
        with no_fallback():
            same = trial.agrees(model) and trial.agrees_by_taps(model)
    except Exception as error:  # it runs the module's code on stand-ins for its rows, which may fail in any way
        return str(error).strip().partition("\n")[0]
    return None if same else "a stack of it has other gradients than its modules"


@contextmanager
def no_fallback() -> Iterator[None]:
    """An operator that vmap has no rule for raises, where it would be run row by row otherwise."""
    switch: Any = torch._C._functorch  # vmap's own switch has no public name
    before = switch._is_vmap_fallback_enabled()  # as above
    switch._set_vmap_fallback_enabled(False)  # as above
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        switch._set_vmap_fallback_enabled(before)  # as above
