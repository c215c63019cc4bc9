"""Gradients of linear layers inside any module, as two factors.

The gradient of W in x W^T + b is delta^T x, with delta the slope of the loss by the layer's answers. Autograd would
write it down for every site, in a layout of its own, and read it again for the step. So W is taken out of autograd's
sight in each call of `F.linear`, the call's inputs and answers are kept, and autograd is asked for delta instead.
Whatever else W is used for, autograd still sees: a gradient is what both of them find.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_functorch: Any = torch._C._functorch  # what vmap hands to a module is opened and closed by names without public form


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a linear layer, for a stack of sites."""

    inputs: Tensor  # [G, B, inputs]
    answers: Tensor  # [G, B, outputs]


class LinearTaps(TorchFunctionMode):
    """``with taps: module(x)`` under `vmap` notes what each `F.linear` reads and answers with one of ``weights``."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self._calls: dict[int, list[Call]] = {id(weight): [] for weight in weights}

    @property
    def calls(self) -> list[list[Call]]:
        """Of each weight, in their order."""
        return list(self._calls.values())

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is F.linear and not kwargs and len(args) == 3 and all(map(_is_stacked, args)):
            level = _functorch.maybe_get_level(args[0])
            answers = self._linear(*map(_functorch.get_unwrapped, args))
            if answers is None:
                return func(*args)
            return _functorch._add_batch_dim(answers, 0, level)  # it has no public name
        return func(*args, **(kwargs or {}))

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
        """The answers of a whole stack in one product, noted; None where weights are not the stack's."""
        calls = self._calls.get(id(weight))
        if calls is None or not bias.requires_grad:
            return None
        rows = x.reshape(len(x), -1, x.shape[-1])
        answers = torch.baddbmm(bias.unsqueeze(1), rows, weight.detach().mT)
        calls.append(Call(rows.detach(), answers))
        return answers.view(*x.shape[:-1], -1)


def _is_stacked(value: Any) -> bool:
    """Whether `vmap` hands it around as one site's, with sites as its first axis."""
    return isinstance(value, Tensor) and _functorch.is_batchedtensor(value) and _functorch.maybe_get_bdim(value) == 0
