"""A method in whole studies, small ones: encrypted as well as not, and with a budget."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch

from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import Simulation

_SMALL: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "clients": 4,
        "rounds": 2,
        "local_epochs": 1,
        "batch_size": 8,
        "participation": 1.0,
        "partition": "iid",
        "workers": 0,
        "data_options": {"rows": 240, "flip_y": 0.0, "classes": 4},
    }
)
_CLOSE: Final = 2e-4


def encrypted(method: str) -> Iterator[str]:
    """An encrypted study leaves the models at its sites that the same study in plaintext leaves."""
    sealed, plain = (_study(method, protection=name) for name in ("ckks", "plaintext"))
    yield from _refusals(sealed.run())
    plain.run()
    left, right = sealed.tensors(), plain.tensors()
    for name in left:
        if not torch.allclose(left[name], right[name], atol=_CLOSE, rtol=0, equal_nan=True):
            yield f"{name} is another than without encryption"


def budgeted(method: str) -> Iterator[str]:
    """A study with a budget ends with every round made, and within the budget."""
    epsilon = 8.0
    result = _study(method, protection="plaintext", dp_epsilon=epsilon, dp_delta=1e-4).run()
    yield from _refusals(result)
    spent = 0.0 if result.privacy is None else result.privacy["epsilon_max"]
    if spent > epsilon:
        yield f"the ledgers hold an epsilon of {spent:.3g}, the budget is {epsilon:g}"


def _study(method: str, **settings: Any) -> Simulation:
    return Simulation(assemble(Config(method=method, **{**_SMALL, **settings})))


def _refusals(result: Result) -> Iterator[str]:
    for record in result.rounds:
        for refusal in record.refusals:
            yield f"round {record.round_index + 1}, {refusal.site}: {refusal.reason}"
