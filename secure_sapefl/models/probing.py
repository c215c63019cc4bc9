"""What a module does, found out by letting it answer a few made-up rows."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description, Model
from secure_sapefl.models.keyed import KeyedDraws


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


def why_not_stacked(model: Model, about: Description) -> str | None:
    """None, or which operator vmap has no rule for, forward or backward: its fallback would go site by site anyway."""
    theta = model.initial(np.random.default_rng()).repeat(2, 1)
    weights = [view.requires_grad_() for view in model.views(theta)]
    try:
        with no_fallback():
            answers = model.apply(weights, made_up(about.shape, 2, 2), torch.zeros(2, dtype=torch.int64))
            torch.autograd.grad(answers.sum(), weights, allow_unused=True)
    except RuntimeError as error:
        return str(error).strip().splitlines()[0]
    return None


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
