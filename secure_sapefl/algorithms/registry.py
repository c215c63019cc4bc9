"""Every method, by name. Adding one is a file, a line here and a known-answer test."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from secure_sapefl.algorithms import (
    ditto,
    fedacs,
    fedafk,
    fedas,
    fedavg,
    fedavg_ft,
    fedavg_ft_plus,
    fedprox,
    lcfed,
    local,
    perfedavg,
    sapefl,
    sapefl_plus,
)
from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.config import Settings
from secure_sapefl.errors import UnknownName

ALGORITHMS: Final[Mapping[str, Algorithm]] = MappingProxyType(
    {
        module.ALGORITHM.name: module.ALGORITHM
        for module in (
            local,
            fedavg,
            fedavg_ft,
            fedavg_ft_plus,
            perfedavg,
            fedprox,
            ditto,
            fedacs,
            lcfed,
            fedafk,
            fedas,
            sapefl,
            sapefl_plus,
        )
    }
)


def algorithm(name: str) -> Algorithm:
    if name not in ALGORITHMS:
        raise UnknownName("method", name, ALGORITHMS, "secure-sapefl methods")
    return ALGORITHMS[name]


def configured(name: str, options: Mapping[str, Any], where: str | None = None) -> tuple[Algorithm, Settings]:
    """A method and its options, checked; ``where`` says in the error whose they are."""
    method = algorithm(name)
    return method, method.options.read(options, where or f"options of {name}")
