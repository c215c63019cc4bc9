"""What a module draws while it trains, from keys: dropout that depends on seed, round, site and step alone.

Torch's own dropout reads a generator that all sites share, so masks would depend on how sites are grouped. Here a mask
is a hash (SplitMix64, Steele et al. 2014) of a site's key, of the layer and of the place in the batch: the same one by
one, side by side and after a resumed run. Whatever else draws is refused by name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from secure_sapefl.errors import BadInput

_STEP: Final = 0x9E3779B97F4A7C15 - (1 << 64)  # as signed numbers, which is what int64 holds
_FIRST: Final = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND: Final = 0x94D049BB133111EB - (1 << 64)
_BITS: Final = 24  # of a uniform number: what float32 holds

_REFUSED: Final[frozenset[Any]] = frozenset(
    {
        F.alpha_dropout, F.feature_alpha_dropout, F.rrelu, F.gumbel_softmax, F.fractional_max_pool2d,
        torch.rand, torch.randn, torch.randint, torch.randperm, torch.bernoulli, torch.multinomial, torch.normal,
        torch.rand_like, torch.randn_like, torch.randint_like, torch.poisson,
        Tensor.bernoulli, Tensor.bernoulli_, Tensor.normal_, Tensor.uniform_, Tensor.random_, Tensor.exponential_,
    }
)  # fmt: skip


def mixed(numbers: Tensor) -> Tensor:
    """SplitMix64's finalizer on int64, which wraps around as unsigned numbers do."""
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, bits: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)


def _signed(number: int) -> int:
    """What int64 makes of it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def derived(keys: Tensor, occasion: int) -> Tensor:
    """A key for each occasion, such as a step, from a key for all of them."""
    return mixed(keys + _signed(_STEP * (occasion + 1)))


def uniform(key: Tensor, shape: Sequence[int], first_row: Tensor | int = 0) -> Tensor:
    """Numbers in [0, 1) of the given shape; a row's do not depend on how many rows there are, nor on where they begin
    (``first_row``)."""
    places = torch.arange(math.prod(shape), device=key.device) + first_row * math.prod(shape[1:])
    bits = _shifted(mixed(key + _STEP * places), 64 - _BITS)
    return (bits.to(torch.float32) / (1 << _BITS)).view(tuple(shape))


class KeyedDraws(TorchFunctionMode):
    """``with KeyedDraws(key): module(x)``: every dropout in it, however it is written, takes its mask from ``key``.

    ``first_row`` is the place in the batch of the first row of ``x``. Without a key nothing is dropped.
    """

    def __init__(self, key: Tensor | None, first_row: Tensor | int = 0) -> None:
        super().__init__()
        self._key, self._first_row, self.drawn = key, first_row, 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MASKS:
            return self._dropout(_MASKS[func], *args, **kwargs)
        if func in _REFUSED or _draws_inside(func, args, kwargs):
            raise BadInput(
                f"The model draws random numbers by {func.__name__} while it trains, which cannot be repeated site by "
                "site. Use nn.Dropout, or its forms for channels, between layers."
            )
        return func(*args, **kwargs)

    def _dropout(
        self,
        mask_shape: Callable[[Tensor], tuple[int, ...]],
        input: Tensor,
        p: float = 0.5,
        training: bool = True,
        inplace: bool = False,  # noqa: ARG002 - what is returned is what callers use
    ) -> Tensor:
        if not training or p == 0:
            return input
        self.drawn += 1
        if self._key is None:
            return input
        kept = uniform(derived(self._key, self.drawn), mask_shape(input), self._first_row) >= p
        return input * (kept.to(input.dtype) / (1 - p) if p < 1 else 0.0)


def _everywhere(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)


def _channels(values: Tensor) -> tuple[int, ...]:
    """Of rows and channels; all of a channel is kept or dropped."""
    return (*values.shape[:2], *(1,) * (values.dim() - 2))


_MASKS: Final[Mapping[Any, Callable[[Tensor], tuple[int, ...]]]] = {
    F.dropout: _everywhere,
    torch.dropout: _everywhere,
    F.dropout1d: _channels,
    F.dropout2d: _channels,
    F.dropout3d: _channels,
}


def _draws_inside(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Attention with dropout of its own, all in one operator."""
    if func is not F.scaled_dot_product_attention:
        return False
    return bool(kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0))
