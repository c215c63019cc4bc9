"""What `--tune` tries for each method: the same number of trials for every one.

A method with an option that matters gets three values of it times three learning rates. A method without one gets
nine learning rates from the same range, so that nobody is tuned more than another. Ranges come from the methods'
papers or their authors' code where those state them (FedProx: Li et al. 2020; Ditto: Li et al. 2021).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, Final

COARSE_RATES: Final = (0.01, 0.05, 0.2)
FINE_RATES: Final = (0.01, 0.015, 0.022, 0.033, 0.05, 0.07, 0.1, 0.14, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MainOption:
    name: str
    values: tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    lr: float
    options: Mapping[str, Any] = field(default_factory=dict)


MAIN_OPTIONS: Final[Mapping[str, MainOption]] = MappingProxyType(
    {
        "fedavg-ft": MainOption(name="epochs", values=(2, 5, 10)),
        "fedavg-ft-plus": MainOption(name="epochs", values=(5, 10, 20)),
        "perfedavg": MainOption(name="inner_lr", values=(0.01, 0.05, 0.2)),
        "fedprox": MainOption(name="mu", values=(0.01, 0.1, 1.0)),
        "ditto": MainOption(name="strength", values=(0.1, 1.0, 2.0)),
        "fedacs": MainOption(name="strength", values=(0.01, 0.1, 1.0)),
        "lcfed": MainOption(name="cluster_pull", values=(0.1, 0.5, 2.0)),
        "fedafk": MainOption(name="transfer", values=(0.1, 0.3, 0.6)),
        "fedas": MainOption(name="alignment_lr", values=(0.003, 0.01, 0.03)),
        "sapefl": MainOption(name="anchor_strength", values=(0.3, 1.0, 3.0)),
        "sapefl-plus": MainOption(name="epochs", values=(5, 10, 20)),
    }
)


def trials(method: str, fixed: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The grid of a method whose ``fixed`` options are the user's choice and not to be tuned."""
    option = MAIN_OPTIONS.get(method)
    if option is None or option.name in fixed:
        return tuple(Trial(lr=lr) for lr in FINE_RATES)
    return tuple(Trial(lr=lr, options={option.name: value}) for lr, value in product(COARSE_RATES, option.values))
