"""Gradients of linear layers inside any module, as two factors.

The gradient of W in x W^T + b is delta^T x, with delta the slope of the loss by the layer's answers. Autograd would
write it down for every site, in a layout of its own, and read it again for the step. So W is taken out of autograd's
sight in each call of `F.linear`, the call's inputs and answers are kept, and autograd is asked for delta instead.
Whatever else W is used for, autograd still sees: a gradient is what both of them find.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_functorch: Any = torch._C._functorch  # what vmap hands to a module is opened and closed by names without public form


@dataclass(frozen=True, slots=True)
class Product:
    """A gradient [G, outputs, inputs] that is not written down."""

    left: Tensor  # [G, outputs, B]
    right: Tensor  # [G, B, inputs]

    def written(self) -> Tensor:
        return torch.bmm(self.left, self.right)


Gradient = Tensor | Product


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a linear layer, for a stack of sites."""

    inputs: Tensor  # [G, B, inputs]
    answers: GradientEdge  # [G, B, outputs], as they left the layer: what is written into them later comes after


class LinearTaps(TorchFunctionMode):
    """``with taps: module(x)`` under `vmap` notes what each `F.linear` reads and answers with one of ``weights``."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self._weights = weights
        self._calls: dict[int, list[Call]] = {id(weight): [] for weight in weights}

    def gradients(self, answers: Tensor, slope: Tensor) -> list[Gradient]:
        """Of each weight, where ``slope`` is that of the loss by the module's ``answers``."""
        calls = [self._calls[id(weight)] for weight in self._weights]
        asked: list[Any] = [*self._weights, *(call.answers for own in calls for call in own)]
        found = torch.autograd.grad(answers, asked, slope, allow_unused=True)
        slopes = iter(found[len(calls) :])
        return [
            _together(weight, rest, own, list(islice(slopes, len(own))))
            for weight, rest, own in zip(self._weights, found[: len(calls)], calls, strict=True)
        ]

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is F.linear and not kwargs and len(args) == 3 and _are_stacked(args):
            level = _functorch.maybe_get_level(args[0])
            answers = self._linear(*map(_functorch.get_unwrapped, args))
            if answers is not None:
                return _functorch._add_batch_dim(answers, 0, level)  # it has no public name
        return func(*args, **(kwargs or {}))

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
        """The answers of a whole stack in one product, noted; None where autograd sees to it."""
        calls = self._calls.get(id(weight))
        plain = bias.dim() == 2 and x.numel() > 0 and not torch.is_autocast_enabled(x.device.type)
        if calls is None or not plain or not bias.requires_grad or not torch.is_grad_enabled():
            return None
        rows = x.reshape(len(x), -1, x.shape[-1])
        answers = torch.baddbmm(bias.unsqueeze(1), rows, weight.detach().mT)
        calls.append(Call(rows.detach(), get_gradient_edge(answers)))
        return answers.view(*x.shape[:-1], -1)


def _together(weight: Tensor, rest: Tensor | None, calls: Sequence[Call], slopes: Sequence[Tensor | None]) -> Gradient:
    """What linear layers bring to a weight's gradient, and the ``rest`` of it, where either is anything."""
    told = [(slope, call.inputs) for call, slope in zip(calls, slopes, strict=True) if slope is not None]
    if not told:
        return torch.zeros_like(weight) if rest is None else rest
    slope, inputs = told[0] if len(told) == 1 else (torch.cat(parts, 1) for parts in zip(*told, strict=True))
    product = Product(slope.mT, inputs)
    return product if rest is None else rest + product.written()


def _are_stacked(values: Sequence[Any]) -> bool:
    """Whether one `vmap` hands all of them around as one site's, with sites as their first axis."""
    return all(map(_is_stacked, values)) and len(set(map(_functorch.maybe_get_level, values))) == 1


def _is_stacked(value: Any) -> bool:
    return isinstance(value, Tensor) and _functorch.is_batchedtensor(value) and _functorch.maybe_get_bdim(value) == 0
