"""What a dataset says about itself, and the two ways of getting its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.fetch import Fetcher
from secure_sapefl.data.table import Table
from secure_sapefl.errors import BadInput, UnknownName

Option = int | float | str
Options = Mapping[str, Any]
Layout = dict[str, NDArray[Any]]  # the arrays of a dataset's `.npz`, by name


@dataclass(frozen=True, slots=True)
class Generated:
    """Rows are made here, from the seed."""

    table: Callable[[Options, np.random.Generator], Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Rows are read from ``<key>*.npz``; ``fetch`` makes that file from what the publisher offers."""

    key: str
    table: Callable[[Arrays, Options], Table]
    fetch: Callable[[Fetcher], Layout]
    folder: str = ""  # the publisher's unpacked folder, read by ``unpacked`` where a user has it
    unpacked: Callable[[Path], Layout] | None = None
    shipped: Path | None = None  # the file that comes with this package, where its licence and size allow one


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    name: str
    task: str
    classes: str
    rows: int  # of the complete dataset; a local file may hold fewer
    licence: str
    source: str
    preparation: str
    origin: Generated | Stored
    options: Mapping[str, Option] = field(default_factory=lambda: MappingProxyType({}))
    private_options: Mapping[str, Option] = field(default_factory=lambda: MappingProxyType({}))
    """Options under which a preparation learns nothing from rows: the defaults of a private study."""


def checked_options(owner: str, defaults: Mapping[str, Option], given: Mapping[str, object]) -> dict[str, Any]:
    """The defaults with the given values over them; an unknown name or a wrong type is an error."""
    for name, value in given.items():
        if name not in defaults:
            raise UnknownName(f"option of {owner}", name, defaults)
        kind = type(defaults[name])
        fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
        if not fits:
            raise BadInput(
                f"Option {name!r} of {owner} is {value!r}, expected {kind.__name__}, e.g. {defaults[name]!r}."
            )
    return {**defaults, **given}


def one_of(owner: str, options: Options, name: str, allowed: tuple[str, ...]) -> str:
    value = str(options[name])
    if value not in allowed:
        raise UnknownName(f"value for option {name!r} of {owner}:", value, allowed)
    return value
