"""Federations made from federations: with fewer rows, or with part of the training rows in the place of the test rows.

Rows of a class are taken as one stretch in file order. Where neighbouring rows overlap (windows of a signal), they
then meet at two edges only, instead of everywhere.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.errors import BadInput

VALIDATION_SHARE: Final = 0.2
FEWEST_TRAINING_ROWS: Final = 8
FEWEST_TEST_ROWS: Final = 2


def with_validation_rows(federation: Federation, seed: int) -> Federation:
    """A fifth of every client's training rows, stratified by class, become what it is judged on; test rows are gone."""
    clients = tuple(_validated(client, _rng(seed, 0, c)) for c, client in enumerate(federation.clients))
    return replace(federation, clients=clients)


def thinned(federation: Federation, rows: int, seed: int) -> Federation:
    """About ``rows`` rows in all: every client keeps the same share of its training and of its test rows."""
    share = rows / sum(len(client.train) + len(client.test) for client in federation.clients)
    if share >= 1:
        return federation
    clients = tuple(_thinned(client, share, _rng(seed, 1, c)) for c, client in enumerate(federation.clients))
    left = sum(len(client.train) + len(client.test) for client in clients)
    return replace(federation, clients=clients, source=f"{federation.source}; {left:,} of them used")


def _validated(client: ClientData, rng: np.random.Generator) -> ClientData:
    if len(client.train) < 2:
        raise BadInput(f"Client {client.name!r} has a single training row, nothing to tune on. Compare without --tune.")
    held_out = _stretches(client.train.y, VALIDATION_SHARE, rng)
    return replace(client, train=_rows(client.train, ~held_out), test=_rows(client.train, held_out))


def _thinned(client: ClientData, share: float, rng: np.random.Generator) -> ClientData:
    return replace(
        client,
        train=_fewer(client.train, share, FEWEST_TRAINING_ROWS, rng),
        test=_fewer(client.test, share, FEWEST_TEST_ROWS, rng),
    )


def _fewer(rows: Rows, share: float, fewest: int, rng: np.random.Generator) -> Rows:
    if len(rows) <= fewest:
        return rows
    return _rows(rows, _stretches(rows.y, max(share, fewest / len(rows)), rng))


def _stretches(y: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask over about ``share`` of the rows of each class, at least one row and never the whole of a class.

    What rounding leaves over is carried to the next class. Classes of one row each give nothing; where there are no
    others, one of them gives its row.
    """
    taken = np.zeros(len(y), dtype=np.bool_)
    carried = 0.0
    for label in rng.permutation(np.unique(y)):
        mine = np.flatnonzero(y == label)
        wanted = share * len(mine) + carried
        count = min(round(wanted), len(mine) - 1)
        carried = wanted - count
        first = rng.integers(len(mine) - count + 1)
        taken[mine[first : first + count]] = True
    if not taken.any():
        taken[rng.integers(len(y))] = True
    return taken


def _rows(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    return Rows(rows.X[mask], rows.y[mask])


def _rng(seed: int, purpose: int, client: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, client)))
