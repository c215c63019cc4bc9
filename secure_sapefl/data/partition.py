"""Who holds which rows: natural groups, Dirichlet label skew, IID, clusters that disagree on the labels.

Every partition is one function ``(table, request, rng) -> shares`` in ``PARTITIONS``. All but natural groups give every
site at least ``MINIMUM_ROWS`` rows, of which the 80/20 split makes 8 training and 2 test rows; where the table
brings its own split, at least 8 training and 2 test rows of it. Natural groups are taken as they are and must hold
at least one training and one test row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.table import Table, Units
from secure_sapefl.data.view import View, differing_views
from secure_sapefl.errors import BadInput

MINIMUM_ROWS: Final = 10
MINIMUM_GIVEN: Final = (8, 2)  # training and test rows, where the table brings its own split
MINIMUM_UNITS: Final = 2  # one to train on, one to test on
DEFAULT_CLIENTS: Final = 20
DEFAULT_CLUSTERS: Final = 4


AS_THEY_ARE: Final = View()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRequest:
    clients: int | None
    kappa: float
    clusters: int = DEFAULT_CLUSTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The rows of one site, as ascending indices into the table, and how it sees them."""

    name: str
    rows: NDArray[np.int64]
    view: View = AS_THEY_ARE


Partition = Callable[[Table, PartitionRequest, np.random.Generator], tuple[Share, ...]]


def natural(table: Table, request: PartitionRequest, rng: np.random.Generator) -> tuple[Share, ...]:
    """One site a group; fewer sites than groups means a seeded choice of that many groups."""
    shares = chosen_groups(table, request, rng)
    for share in shares:
        _check_divisible(table, share)
    return shares


def chosen_groups(table: Table, request: PartitionRequest, rng: np.random.Generator) -> tuple[Share, ...]:
    if table.group is None:
        raise BadInput(f"{table.source}: there are no groups to partition by. Use --partition dirichlet or iid.")
    groups = len(table.group_names)
    wanted = groups if request.clients is None else request.clients
    if wanted > groups:
        raise BadInput(f"{table.source}: {wanted} sites asked for, the data has {groups} groups. Ask for at most that.")
    chosen = np.sort(rng.choice(groups, size=wanted, replace=False))
    return tuple(Share(name=table.group_names[g], rows=np.flatnonzero(table.group == g)) for g in chosen)


def dirichlet(table: Table, request: PartitionRequest, rng: np.random.Generator) -> tuple[Share, ...]:
    """Label skew: the rows of each class go to the sites in proportions drawn from Dirichlet(κ, …, κ). Where labels are
    no classes, others stand for them (`Labels.strata`).

    Small κ means that a class sits with few sites. Sites left with fewer rows than the minimum are topped up from
    the largest ones, so small κ on few classes is a little less skewed than the plain draw.
    """
    clients = _client_count(table, request)
    units = Units.from_table(table)
    home = np.empty(len(units), np.int64)
    for label in range(table.strata):
        edges = np.cumsum(rng.dirichlet(np.full(clients, request.kappa)))
        for part in np.unique(units.part):
            mine = rng.permutation(np.flatnonzero((units.label == label) & (units.part == part)))
            home[mine] = deal(units.size[mine], edges)
    return _shares(table, units, home, clients, rng)


def iid(table: Table, request: PartitionRequest, rng: np.random.Generator) -> tuple[Share, ...]:
    """Shuffle and deal: every site draws from the same distribution."""
    clients = _client_count(table, request)
    units = Units.from_table(table)
    home = np.empty(len(units), np.int64)
    for part in np.unique(units.part):
        mine = rng.permutation(np.flatnonzero(units.part == part))
        home[mine] = np.arange(len(mine)) % clients
    return _shares(table, units, home, clients, rng)


def clustered(table: Table, request: PartitionRequest, rng: np.random.Generator) -> tuple[Share, ...]:
    """Concept shift: rows go to sites as by Dirichlet(κ), sites to clusters that name the classes differently.

    No single model serves two clusters; sites of one cluster can learn from each other. A site's name tells its
    cluster.
    """
    return in_clusters(table, dirichlet(table, request, rng), request, rng)


def in_clusters(
    table: Table, shares: tuple[Share, ...], request: PartitionRequest, rng: np.random.Generator
) -> tuple[Share, ...]:
    if not 1 <= request.clusters <= len(shares):
        raise BadInput(f"{len(shares)} sites cannot form {request.clusters} clusters. Ask for 1 to {len(shares)}.")
    views = differing_views(table, request.clusters, rng)
    cluster_of = rng.permutation(np.arange(len(shares)) % request.clusters)
    return tuple(
        replace(share, name=f"{share.name}-cluster-{cluster}", view=views[cluster])
        for share, cluster in zip(shares, cluster_of.tolist(), strict=True)
    )


PARTITIONS: Final[Mapping[str, Partition]] = MappingProxyType(
    {"natural": natural, "dirichlet": dirichlet, "iid": iid, "clustered": clustered}
)


def minimum_rows(table: Table) -> tuple[int, ...]:
    """The least rows a made-up site holds, per part of the given split (one part where none is given)."""
    return (MINIMUM_ROWS,) if table.split is None else MINIMUM_GIVEN


def _client_count(table: Table, request: PartitionRequest) -> int:
    clients = DEFAULT_CLIENTS if request.clients is None else request.clients
    parts = np.zeros(len(table), np.int64) if table.split is None else table.split
    for part, minimum in enumerate(minimum_rows(table)):
        rows = int(np.count_nonzero(parts == part))
        if rows < minimum * clients:
            kind = "" if table.split is None else ("training ", "test ")[part]
            raise BadInput(
                f"{table.source}: {clients} sites with at least {minimum} {kind}rows each need "
                f"{minimum * clients:,}, the data has {rows:,}. Ask for at most {rows // minimum} sites."
            )
    return clients


def deal(sizes: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """The site of each unit: the one whose slice of the class holds the unit's middle row."""
    if len(sizes) == 0:
        return np.empty(0, np.int64)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    clients: NDArray[np.int64] = np.searchsorted(edges, middles)
    return np.minimum(clients, len(edges) - 1)


def _shares(
    table: Table, units: Units, home: NDArray[np.int64], clients: int, rng: np.random.Generator
) -> tuple[Share, ...]:
    for part, minimum in enumerate(minimum_rows(table)):
        mine = np.flatnonzero(units.part == part)
        home[mine] = topped_up(home[mine], units.size[mine], clients, minimum, rng)
    return shares_of(units, home, clients)


def shares_of(units: Units, home: NDArray[np.int64], clients: int) -> tuple[Share, ...]:
    """From the home of each unit."""
    owner = home[units.of_row]
    digits = len(str(clients - 1))
    return tuple(Share(name=f"client-{c:0{digits}d}", rows=np.flatnonzero(owner == c)) for c in range(clients))


def topped_up(
    home: NDArray[np.int64], size: NDArray[np.int64], clients: int, minimum: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Move units from the site with most rows until nobody is below the minimum.

    A site never gives what would bring it below the minimum itself, so every move makes progress.
    """
    home = home.copy()
    rows, count = np.bincount(home, weights=size, minlength=clients), np.bincount(home, minlength=clients)
    units = np.split(np.argsort(home, kind="stable"), np.cumsum(count)[:-1])
    nothing = len(home)

    def spare(site: int) -> NDArray[np.int64]:
        mine = units[site] if count[site] > MINIMUM_UNITS else units[site][:0]
        free: NDArray[np.int64] = mine[rows[site] - size[mine] >= minimum]
        return free

    first = np.array([next(iter(spare(site)), nothing) for site in range(clients)])
    while (short := (rows < minimum) | (count < MINIMUM_UNITS)).any():
        able = first < nothing
        if not able.any():
            raise BadInput(
                f"The segments cannot be divided among {clients} sites with at least {minimum} rows each. "
                "Ask for fewer sites."
            )
        giver = int(home[first[able & (rows == rows[able].max())].min()])
        moved, taker = rng.choice(spare(giver)), int(np.argmax(short))
        home[moved] = taker
        units[giver] = units[giver][units[giver] != moved]
        units[taker] = np.insert(units[taker], np.searchsorted(units[taker], moved), moved)
        for site, sign in ((giver, -1), (taker, 1)):
            rows[site] += sign * size[moved]
            count[site] += sign
            first[site] = next(iter(spare(site)), nothing)
    return home


def _check_divisible(table: Table, share: Share) -> None:
    if table.split is not None:
        present = np.unique(table.split[share.rows])
        if len(present) < 2:
            missing = "test" if 0 in present else "training"
            raise BadInput(f"{table.source}: group {share.name!r} has no {missing} rows in `split`. Give it some.")
        return
    pieces = share.rows if table.segment is None else np.unique(table.segment[share.rows])
    if len(pieces) < MINIMUM_UNITS:
        raise BadInput(
            f"{table.source}: group {share.name!r} cannot be divided into training and test rows, "
            f"it has {len(pieces)} piece. Remove the group or merge it with another."
        )
