"""A module tried on a few made-up rows: what the gradients of single records are, by autograd, one record at a time.

Whatever computes them faster is held against this before it is used, since a wrong one would not fail but clip wrongly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.models.base import loaded
from secure_sapefl.models.module import ModuleModel

_TRIED: Final = 3  # made-up rows

Slopes = Callable[[Tensor], Tensor]
"""From a model's answers [B, K] to the gradient of each record's loss by them."""


class Differs(Exception):
    """Something computes other gradients than autograd."""


REFUSALS: Final = (NotImplementedError, RuntimeError, ValueError, AttributeError, TypeError, LookupError, Differs)
"""By which a way says that it has no form for a model, or shows that it is wrong."""


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
