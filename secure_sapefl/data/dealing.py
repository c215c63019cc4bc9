"""Who holds which rows in a private study: the partitions of `partition.py`, dealt unit by unit with keyed coins.

A unit's home follows from its coin, its class or group and public numbers alone, so one record more or less moves no
other. Nobody is topped up to a minimum: that would move a record because of the number of others.
"""

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.coins import Coins
from secure_sapefl.data.partition import (
    DEFAULT_CLIENTS,
    PartitionRequest,
    Share,
    chosen_groups,
    in_clusters,
    shares_of,
)
from secure_sapefl.data.streams import DataPurpose
from secure_sapefl.data.table import Table, Units
from secure_sapefl.errors import BadInput


def dealt(
    partition: str, table: Table, units: Units, request: PartitionRequest, coins: Coins, rng: np.random.Generator
) -> tuple[Share, ...]:
    """``partition`` is a name of `PARTITIONS`; ``rng`` draws what reads no record."""
    if partition == "natural":
        return chosen_groups(table, request, rng)
    clients = request.clients or DEFAULT_CLIENTS
    if partition == "iid":
        return shares_of(units, (coins.thrown(DataPurpose.PARTITION) * clients).astype(np.int64), clients)
    if table.persons:
        raise BadInput(
            f"{table.source}: rows of one person may be of several classes, and whichever decided where the person "
            "goes would move the others. In a private study with persons, divide by --partition natural or iid."
        )
    shares = shares_of(units, _skewed(table, units, request.kappa, clients, coins, rng), clients)
    return in_clusters(table, shares, request, rng) if partition == "clustered" else shares


def _skewed(
    table: Table, units: Units, kappa: float, clients: int, coins: Coins, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Each site's part of a class is drawn from Dirichlet(κ, …, κ); a unit of the class falls to one by its coin."""
    edges = rng.dirichlet(np.full(clients, kappa), size=table.strata).cumsum(axis=1)
    beyond = coins.thrown(DataPurpose.PARTITION)[:, None] >= edges[units.label]
    homes: NDArray[np.int64] = np.minimum(beyond.sum(axis=1), clients - 1)
    return homes
