"""Names that installed packages bring along, by entry points: methods, datasets, models and tasks.

    [project.entry-points."secure_sapefl.methods"]
    mine = "my_package.mine:ALGORITHM"

A name is looked up where somebody types it for a simulation, and nothing but that name's module is imported. Names of
our own cannot be taken over. Deployed studies do not look here: no file of `study/`, `site/`, `coordinator/` or
`transport/` calls this, so an agent runs nothing because it happens to be installed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final

from secure_sapefl.errors import BadInput
from secure_sapefl.own_code import Kind, OwnCode, load

GROUPS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "method": "secure_sapefl.methods",
        "dataset": "secure_sapefl.datasets",
        "model": "secure_sapefl.models",
        "task": "secure_sapefl.tasks",
    }
)


def offered(kind: Kind) -> dict[str, str]:
    """Every name that is installed, and which package it is from; nothing is imported."""
    return {found.name: _package(found) for found in entry_points(group=GROUPS[kind])}


def find(kind: Kind, name: str) -> OwnCode | None:
    """What an installed package calls ``name``; None where nobody does. Its digest covers the package's version."""
    found = {point.value: point for point in entry_points(group=GROUPS[kind], name=name)}
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found.values())))
        raise BadInput(
            f"The {kind} {name!r} is offered by {packages}. Uninstall one, or name it as package.module:NAME."
        )
    ((value, point),) = found.items()
    own = load(value, kind)
    return replace(own, digest=hashlib.sha256(f"{_package(point)} {own.digest}".encode()).hexdigest()[:32])


def _package(point: EntryPoint) -> str:
    return "?" if point.dist is None else f"{point.dist.name} {point.dist.version}"
