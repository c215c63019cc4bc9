"""A make-believe accelerator for a machine that has none: memory of its own, and a ledger of who asks for it.

Torch lets a backend be written in Python. Tensors of this one, on the device ``accel``, wrap tensors in main memory and
compute as those do. What a graphics card refuses, they refuse: an operation on tensors of both memories. And what costs
time on a card is counted: operations, copies either way, and values the host waits for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend  # has no public name yet

from secure_sapefl.privacy import randomness

NAME: Final = "accel"
_setup_privateuseone_for_python_backend(NAME)
getattr(torch, NAME).get_amp_supported_dtype = lambda: [torch.float16]  # whatever asks torch for autocast asks for it
DEVICE: Final = torch.device(NAME, 0)

_COPY: Final = "aten::copy_"
_MOVES: Final = {"aten::_to_copy", _COPY}
_TAKES_INDICES: Final = {"aten::index.Tensor", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
_WAITS: Final = {
    "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal", "aten::is_nonzero",
    "aten::repeat_interleave.Tensor", "aten::_unique2",
}  # fmt: skip


@dataclass(slots=True)
class Traffic:
    """What went on at the device while somebody counted."""

    operations: int = 0
    to_device: int = 0
    to_host: int = 0
    waits: Counter[str] = field(default_factory=Counter)  # by operation: the host cannot go on before the device has

    @property
    def answers(self) -> int:
        """How often the host was told something, and so had to wait."""
        return self.to_host + self.waits.total()


_counting: list[Traffic] = []


@contextmanager
def counted() -> Iterator[Traffic]:
    traffic = Traffic()
    _counting.append(traffic)
    try:
        yield traffic
    finally:
        _counting.remove(traffic)


class OnDevice(Tensor):
    """A tensor of the accelerator; ``memory`` is what a card would hold where no host can reach."""

    memory: Tensor

    @staticmethod
    def __new__(cls, memory: Tensor) -> "OnDevice":
        made: OnDevice = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]  # the documented way
            cls, memory.shape, strides=memory.stride(), storage_offset=memory.storage_offset(),
            dtype=memory.dtype, device=DEVICE,
        )  # fmt: skip
        made.memory = memory
        return made

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"OnDevice({tuple(self.shape)})"

    def tolist(self) -> Any:  # type: ignore[override]
        """Torch has none for tensors of a class of their own."""
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _run(func, args, dict(kwargs or {}))


def _run(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The operation in main memory; its results live where the device's do."""
    name = func.name()
    if name in _MOVES:
        return _moved(func, args, kwargs)
    _refuse_mixtures(name, args, kwargs)
    for traffic in _counting:
        traffic.operations += not func.is_view
        traffic.waits[name] += name in _WAITS or _counts_true(name, args)
    if "device" in kwargs:
        kwargs["device"] = torch.device("cpu")
    found = func(*tree_map(_unwrapped, tuple(args)), **tree_map(_unwrapped, kwargs))
    in_place = name.partition(".")[0].endswith("_") and isinstance(args[0], Tensor)
    return args[0] if in_place else tree_map(_wrapped, found)


def _moved(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A copy, within the device or from one memory into the other."""
    if func.name() == _COPY:
        into, source = args[0], args[1]
        _count_copy(source, onto_device=isinstance(into, OnDevice))
        _unwrapped(into).copy_(_unwrapped(source))
        return into
    source, device = args[0], kwargs.pop("device", None)
    stays = isinstance(source, OnDevice) if device is None else device.type == NAME
    _count_copy(source, onto_device=stays)
    copied = func(_unwrapped(source), **kwargs)
    return OnDevice(copied) if stays else copied


def _count_copy(source: Tensor, *, onto_device: bool) -> None:
    for traffic in _counting:
        traffic.operations += isinstance(source, OnDevice) and onto_device
        traffic.to_device += not isinstance(source, OnDevice)
        traffic.to_host += not onto_device


def _refuse_mixtures(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """As on a card: single numbers and indices may come from the host, and indices are copied. All else fails."""
    tensors: list[Tensor] = []
    tree_map(lambda one: tensors.append(one) if isinstance(one, Tensor) else None, (tuple(args), dict(kwargs)))
    from_host = [one for one in tensors if not isinstance(one, OnDevice) and one.dim() > 0]
    indices = args[1] if name in _TAKES_INDICES else ()
    if any(all(one is not index for index in indices) for one in from_host):
        raise RuntimeError(f"{name}: tensors on {DEVICE} and on the host, expected all of them on one device.")
    for traffic in _counting:
        traffic.to_device += len(from_host)


def _counts_true(name: str, args: Sequence[Any]) -> bool:
    """Whether the host has to know how many of a mask on the device are true."""
    masks = args[1] if name in _TAKES_INDICES else ()
    return any(isinstance(one, OnDevice) and one.dtype is torch.bool for one in masks)


def _unwrapped(one: Any) -> Any:
    return one.memory if isinstance(one, OnDevice) else one


def _wrapped(one: Any) -> Any:
    return OnDevice(one) if isinstance(one, Tensor) else one


class Accelerator(TorchDispatchMode):
    """While it is entered, tensors can be made on the device and brought there."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        device, on_device = kwargs.get("device"), any(issubclass(one, OnDevice) for one in types)
        return _run(func, args, kwargs) if on_device or (device and device.type == NAME) else func(*args, **kwargs)


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The device's name. A backend in Python cannot have random generators of its own; the host's draw for it."""
    monkeypatch.setattr(randomness, "generator_on", lambda _: torch.Generator())
    # no public name either
    torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(..., device) is made on the host, and then brought there
    try:
        with Accelerator():
            yield NAME
    finally:
        torch._C._set_only_lift_cpu_tensors(False)  # as above
