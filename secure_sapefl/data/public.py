"""What a private study says of its data aloud: lists of names and rounded numbers, given or read off the data once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import PublicFacts
from secure_sapefl.data.federation import ClientData
from secure_sapefl.data.table import Array, Table
from secure_sapefl.errors import BadInput

Codes = NDArray[np.int64]


def about(count: int) -> int:
    """A number of rows as somebody says it aloud, to two digits: 243 is 240."""
    return max(1, round(count, min(0, 2 - len(str(count)))))


def with_lists(table: Table, facts: PublicFacts) -> Table:
    """The table with its classes and groups counted by the public lists, where there are any."""
    classes, y = _labels(table, facts.classes)
    if table.group is None:
        return replace(table, class_names=classes, y=y)
    groups, group = _recoded(table, "group", table.group_names, table.group, facts.groups)
    return replace(table, class_names=classes, y=y, group_names=groups, group=group)


def completed(facts: PublicFacts, clients: Iterable[ClientData]) -> PublicFacts:
    """The facts with a number of training rows for every site, and of persons where rows say whose they are: a
    simulated owner who says none counts, and rounds."""
    everybody = tuple(clients)
    counted = {client.name: about(len(client.train)) for client in everybody}
    whose = {client.name: client.train.persons for client in everybody}
    persons = {name: about(len(np.unique(one))) for name, one in whose.items() if one is not None}
    return facts.model_copy(update={"rows": counted | facts.rows, "persons": persons | facts.persons})


def _labels(table: Table, wanted: Sequence[str]) -> tuple[tuple[str, ...], Array]:
    if table.labels.kind == "class":
        return _recoded(table, "class", table.class_names, table.y, wanted)
    if wanted and tuple(wanted) != table.class_names:
        raise BadInput(
            f"{table.source}: its labels are {', '.join(table.class_names)}, the study's {', '.join(wanted)}."
        )
    return table.class_names, table.y


def _recoded(
    table: Table, kind: str, names: Sequence[str], codes: Codes, wanted: Sequence[str]
) -> tuple[tuple[str, ...], Codes]:
    if not wanted or tuple(wanted) == tuple(names):
        return tuple(names), codes
    place = {name: number for number, name in enumerate(wanted)}
    unknown = [names[code] for code in np.unique(codes) if names[code] not in place]
    if unknown:
        raise BadInput(
            f"{table.source}: {kind} {unknown[0]!r} is not on the public list of the study: {', '.join(wanted)}. "
            "Correct the rows, or the list."
        )
    return tuple(wanted), np.array([place.get(name, -1) for name in names], dtype=np.int64)[codes]
