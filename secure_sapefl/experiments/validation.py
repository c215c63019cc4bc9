"""A federation for tuning: part of the training rows takes the place of the test rows.

Rows of a class are held out as one stretch in file order. Where neighbouring rows overlap (windows of a signal),
training and validation rows then meet at two edges only, instead of everywhere.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.errors import BadInput

VALIDATION_SHARE: Final = 0.2


def with_validation_rows(federation: Federation, seed: int) -> Federation:
    """A fifth of every site's training rows, stratified by class, become what it is judged on; test rows are gone."""
    seeds = np.random.SeedSequence(seed).spawn(len(federation.clients))
    rngs = map(np.random.default_rng, seeds)
    clients = tuple(_validated(client, rng) for client, rng in zip(federation.clients, rngs, strict=True))
    return replace(federation, clients=clients)


def _validated(client: ClientData, rng: np.random.Generator) -> ClientData:
    if len(client.train) < 2:
        raise BadInput(f"Site {client.name!r} has a single training row, nothing to tune on. Compare without --tune.")
    held_out = _stretches(client.train.y, rng)
    return replace(client, train=_rows(client.train, ~held_out), test=_rows(client.train, held_out))


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


def _rows(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    return Rows(rows.X[mask], rows.y[mask])
