"""From a dataset's name or file to a federation: load, partition, split, prepare."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.fetch import Progress, no_progress
from secure_sapefl.data.load import load_table
from secure_sapefl.data.partition import DEFAULT_CLUSTERS, PARTITIONS, PartitionRequest, Share
from secure_sapefl.data.prepare import described, learns_from_rows
from secure_sapefl.data.split import Indices, split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.errors import BadInput, UnknownName

LARGEST_KAPPA: Final = 1e9  # even to nine digits; far beyond, the draw underflows
NO_OPTIONS: Mapping[str, object] = MappingProxyType({})


def build_federation(
    dataset: str,
    *,
    clients: int | None,
    partition: Literal["natural", "dirichlet", "iid", "clustered"] | None,
    kappa: float,
    seed: int,
    data_dir: Path | None = None,
    options: Mapping[str, object] = NO_OPTIONS,
    label: str | None = None,
    group: str | None = None,
    rows: int | None = None,
    clusters: int = DEFAULT_CLUSTERS,
    progress: Progress = no_progress,
) -> Federation:
    """Divide ``dataset``, a registered name or the path of an .npz or .csv file, among clients.

    ``partition`` None means natural where the data has groups, else Dirichlet; ``clients`` None means every group, or
    20 where clients are made up. ``rows`` takes a random part of the data, for quick runs. The same arguments and the
    same data give the same federation. A registered dataset that is not on this machine is downloaded into the cache;
    ``progress`` hears of it.
    """
    _check(clients=clients, partition=partition, kappa=kappa, seed=seed)
    table = load_table(
        dataset,
        seed=seed,
        data_dir=data_dir,
        options=options,
        label=label,
        group=group,
        progress=progress,
        partition=partition,
    )
    if rows is not None:
        table = table.sample(rows, stream(seed, DataPurpose.SAMPLE))
    name = partition or ("dirichlet" if table.group is None else "natural")
    request = PartitionRequest(clients=clients, kappa=kappa, clusters=clusters)
    shares = PARTITIONS[name](table, request, stream(seed, DataPurpose.PARTITION))
    units = Units.of(table)
    splits = [
        split_rows(table, units, share.rows, stream(seed, DataPurpose.SPLIT, i)) for i, share in enumerate(shares)
    ]
    table = _with_common_scale(table, [train for train, _ in splits])
    members = tuple(_client(table, share, *split) for share, split in zip(shares, splits, strict=True))
    return Federation(
        dataset=dataset,
        shape=members[0].train.X.shape[1:],
        class_names=table.class_names,
        clients=members,
        source=table.source,
        partition=name,
        preparation=described(table.prepare),
        learned=learns_from_rows(table.prepare),
    )


def _check(*, clients: int | None, partition: str | None, kappa: float, seed: int) -> None:
    if partition is not None and partition not in PARTITIONS:
        raise UnknownName("partition", partition, PARTITIONS)
    if clients is not None and clients < 1:
        raise BadInput(f"clients is {clients}, expected at least 1.")
    if not 0 < kappa <= LARGEST_KAPPA:
        raise BadInput(
            f"kappa is {kappa}, expected above 0 and at most {LARGEST_KAPPA:g}: small is skewed, large is even."
        )
    if seed < 0:
        raise BadInput(f"seed is {seed}, expected 0 or more.")


def _with_common_scale(table: Table, trained: Sequence[Indices]) -> Table:
    """Where the table asks for one: learned from all training rows, so that no client's mean tells its labels."""
    if table.learn is None:
        return table
    return replace(table, prepare=table.learn(table.X[np.concatenate(trained)]), learn=None)


def _client(table: Table, share: Share, train: Indices, test: Indices) -> ClientData:
    train_X, test_X = table.prepare(*(share.view.of_features(table.X[rows]) for rows in (train, test)))
    train_y, test_y = (share.view.of_labels(table.y[rows]) for rows in (train, test))
    return ClientData(name=share.name, train=Rows(train_X, train_y), test=Rows(test_X, test_y))
