"""Every method a simulation may name: ours, one in a file of the user's own, and those of installed packages.

A deployed study names one of ours (`registry.py`) and never comes here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secure_sapefl import plugins
from secure_sapefl.algorithms.base import Algorithm
from secure_sapefl.algorithms.registry import ALGORITHMS
from secure_sapefl.config import Settings
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.own_code import load, names_own_code


@dataclass(frozen=True, slots=True)
class Found:
    """``sources`` are digests of what is not ours, for a run's identity."""

    algorithm: Algorithm
    sources: Mapping[str, str]


def find(name: str) -> Found:
    """``name`` is registered, FILE.py (with an ``ALGORITHM``), FILE.py:NAME, package.module:NAME, or installed."""
    if name in ALGORITHMS:
        return Found(ALGORITHMS[name], {})
    own = load(name, "method") if names_own_code(name) else plugins.find("method", name)
    if own is None:
        raise UnknownName("method", name, {*ALGORITHMS, *plugins.offered("method")}, "secure-sapefl methods")
    if not isinstance(own.value, Algorithm):
        raise BadInput(
            f"The method {own.name!r} is {type(own.value).__name__}, expected an Algorithm of "
            "secure_sapefl.algorithms.base. `secure-sapefl check-method` says more."
        )
    return Found(own.value, {"method": own.digest})


def algorithm(name: str) -> Algorithm:
    return find(name).algorithm


def configured(name: str, options: Mapping[str, Any]) -> tuple[Algorithm, Settings]:
    """A method and its options, checked."""
    method = algorithm(name)
    return method, method.options.read(options, f"options of {name}")
