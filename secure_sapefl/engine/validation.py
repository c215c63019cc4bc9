"""A part of a site's training rows held back, to choose by without a look at the test rows.

Where rows belong together (windows of one recording, a person's visits), such a segment is held out whole or not at
all. Otherwise rows of a class are held out as one stretch in file order: should neighbours overlap without saying so,
training and validation rows meet at two edges only, instead of everywhere.

In a private study coins say who is tested, and leave some sites without a class in training that they are tested on.
Rows are held back in the same way there: what is chosen by rows that have every class would not do for those.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.federation import ClientData, Federation
from secure_sapefl.data.split import held_out_units
from secure_sapefl.data.table import Units
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels

VALIDATION_SHARE: Final = 0.2


def with_validation_rows(federation: Federation, seed: int, instead: str) -> Federation:
    """A fifth of every site's training rows, stratified by class, become its `validation` rows. ``instead`` is what
    to do where a site has too few. A site with one segment alone holds nothing back. In a private study each segment,
    or row, is held back by a coin, and nothing has a minimum."""
    seeds = np.random.SeedSequence(seed).spawn(len(federation.clients))
    strata = _strata(federation)
    clients = tuple(
        _validated(client, codes, np.random.default_rng(own), instead, private=federation.public is not None)
        for client, codes, own in zip(federation.clients, strata, seeds, strict=True)
    )
    return replace(federation, clients=clients)


def _strata(federation: Federation) -> Iterator[NDArray[np.int64]]:
    """Of each site's training rows; numbers by tenths of its own."""
    kind = Labels(federation.labels.kind)
    return (kind.strata(client.train.y) for client in federation.clients)


def _validated(
    client: ClientData, codes: NDArray[np.int64], rng: np.random.Generator, instead: str, *, private: bool
) -> ClientData:
    segments = client.train.segments
    if len(client.train) < 2 and not private:
        raise BadInput(f"Site {client.name!r} has a single training row, nothing to hold back. {instead}")
    if private:
        held_out = _by_coins(np.arange(len(client.train)) if segments is None else segments, rng)
    elif segments is not None and len(np.unique(segments)) < 2:
        held_out = np.zeros(len(client.train), np.bool_)
    else:
        held_out = _stretches(codes, rng) if segments is None else _whole(segments, codes, rng)
    return replace(client, train=client.train.part(~held_out), validation=client.train.part(held_out))


def _by_coins(segments: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    names, unit = np.unique(segments, return_inverse=True)
    return (rng.random(len(names)) < VALIDATION_SHARE)[unit]


def _whole(segments: NDArray[np.int64], codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask over about a fifth of the rows of each class, in whole segments."""
    units = Units.from_names(segments, codes, np.zeros_like(segments))
    return np.isin(units.of_row, held_out_units(units, np.arange(len(units)), rng))


def _stretches(y: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask over about a fifth of the rows of each class, at least one row and never the whole of a class.

    What rounding leaves over is carried to the next class. Where rounding leaves nothing at all, the commonest class
    gives a row; only a site with one row of each class loses a class that way.
    """
    taken = np.zeros(len(y), dtype=np.bool_)
    carried = 0.0
    for label in rng.permutation(np.unique(y)):
        mine = np.flatnonzero(y == label)
        wanted = VALIDATION_SHARE * len(mine) + carried
        count = min(round(wanted), len(mine) - 1)
        carried = wanted - count
        first = rng.integers(len(mine) - count + 1)
        taken[mine[first : first + count]] = True
    if not taken.any():
        taken[rng.choice(np.flatnonzero(y == np.argmax(np.bincount(y))))] = True
    return taken
