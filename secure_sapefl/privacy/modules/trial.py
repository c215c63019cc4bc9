"""A module tried on a few made-up rows: what the gradients of single records are, by autograd, one record at a time.

Whatever computes them faster is held against this before it is used, since a wrong one would not fail but clip wrongly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import loaded
from secure_sapefl.models.module import ModuleModel

_TRIED: Final = 3  # made-up rows

Slopes = Callable[[Tensor], Tensor]
"""From a model's answers [B, K] to the gradient of each record's loss by them."""


class Differs(Exception):
    """Something computes other gradients than autograd."""


REFUSALS: Final = (NotImplementedError, RuntimeError, ValueError, AttributeError, TypeError, LookupError, Differs)
"""By which a way says that it has no form for a model, or shows that it is wrong."""


_READS_VALUES: Final[frozenset[Any]] = frozenset(
    {
        Tensor.__bool__, Tensor.__float__, Tensor.__int__, Tensor.__index__, Tensor.__contains__, Tensor.__array__,
        Tensor.item, Tensor.tolist, Tensor.numpy, torch.equal, torch.allclose, torch.is_nonzero,
    }
)  # fmt: skip


class _NothingDecides(TorchFunctionMode):
    """While a module answers, no value of a batch is looked at by Python: what it then did to one record, by an `if`,
    could hang on another, and no made-up rows show that for sure."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in _READS_VALUES:
            raise BadInput(
                f"The model looks at values of a batch ({func.__name__}), so one record could decide about another's "
                "gradient, which a privacy budget rules out. Use torch.where in place of `if`, and tensors throughout."
            )
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    names: Sequence[str]
    weights: list[Tensor]
    x: Tensor  # [B, ...]
    key: Tensor | None
    slopes: Tensor  # [B, K], made up as well
    gradients: list[Tensor]  # [B, *shape] for each of ``weights``

    @classmethod
    def made_up(cls, model: ModuleModel) -> "Trial":
        random = torch.Generator().manual_seed(0)
        x = torch.rand((_TRIED, *model.row_shape), generator=random)
        slopes = torch.rand((_TRIED, model.classes), generator=random)
        key = torch.tensor(1) if model.draws else None
        module = loaded(model, model.initial(np.random.default_rng()))
        with _NothingDecides():
            answers, weights = model.call(module, x, key), model.weights_of(module)
        records = [
            torch.autograd.grad(answers[i] @ slopes[i], weights, retain_graph=True, materialize_grads=True)
            for i in range(_TRIED)
        ]
        gradients = [torch.stack(parts) for parts in zip(*records, strict=True)]
        detached = [weight.detach() for weight in weights]
        return cls(names=model.names, weights=detached, x=x, key=key, slopes=slopes, gradients=gradients)


def require_close(found: Tensor, expected: Tensor, what: str) -> None:
    if found.shape != expected.shape or not torch.allclose(found, expected, rtol=1e-3, atol=1e-5):
        raise Differs(f"its gradients of {what} are not those of single records.")
