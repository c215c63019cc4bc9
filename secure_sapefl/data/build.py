"""From a dataset's name or file to a federation: load, partition, split, prepare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from secure_sapefl.config import Agreed, PreparationName, PublicFacts
from secure_sapefl.data.coins import Coins, marks_of
from secure_sapefl.data.dealing import dealt
from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.fetch import Progress, no_progress
from secure_sapefl.data.load import load_table
from secure_sapefl.data.own import Reading
from secure_sapefl.data.partition import DEFAULT_CLUSTERS, PARTITIONS, PartitionRequest, Share
from secure_sapefl.data.prepare import described, learns_from_rows, recipe_of
from secure_sapefl.data.public import about, completed, with_lists
from secure_sapefl.data.split import Indices, split_by_coins, split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.common import agreed, common_preparation
from secure_sapefl.data.tables.tally import CountPlan, Counts
from secure_sapefl.errors import BadInput, UnknownName
from secure_sapefl.labels import LabelKind, Labels, Scale

LARGEST_KAPPA: Final = 1e9  # even to nine digits; far beyond, the draw underflows
NO_OPTIONS: Mapping[str, object] = MappingProxyType({})
Change = Callable[[Table], Table]
_IN_WORDS: Final[Mapping[LabelKind, str]] = {"class": "classes", "yes-no": "yes or no", "number": "numbers"}
Agree = Callable[[Mapping[str, Counts], CountPlan], Agreed]
Place = tuple[Share, Indices, Indices]
"""What a site holds, and of that its training and its test rows."""


def as_it_is(table: Table) -> Table:
    return table


def agreed_here(counts: Mapping[str, Counts], plan: CountPlan) -> Agreed:
    """For a look at the data, where all of it is in one place anyway: the totals that an encrypted sum has."""
    return agreed(np.sum(list(counts.values()), axis=0), plan, sites=len(counts))


def build_federation(
    dataset: str | Columns,
    *,
    clients: int | None,
    partition: Literal["natural", "dirichlet", "iid", "clustered"] | None,
    kappa: float,
    seed: int,
    data_dir: Path | str | None = None,
    options: Mapping[str, object] = NO_OPTIONS,
    label: str | None = None,
    group: str | None = None,
    rows: int | None = None,
    clusters: int = DEFAULT_CLUSTERS,
    progress: Progress = no_progress,
    private: PublicFacts | None = None,
    change: Change = as_it_is,
    schema: Path | str | None = None,
    labels: LabelKind | None = None,
    scaled: bool = True,
    preparation: PreparationName | None = None,
    agree: Agree = agreed_here,
) -> Federation:
    """Divide ``dataset``, a registered name, the path of a file or columns in memory, among sites.

    ``partition`` None means natural where the data has groups, else Dirichlet; ``clients`` None means every group, or
    20 where sites are made up. ``rows`` takes a random part of the data, for quick runs. The same arguments and the
    same data give the same federation. A registered dataset that is not on this machine is downloaded into the cache;
    ``progress`` hears of it.

    With ``private``, where a row goes depends on the row, a key and these public facts alone (`coins.py`), and tables
    that differ in one record give federations that do. ``change`` is made to the table as it was read: an audit asks
    what one row of it decides. ``labels`` is what a task reads, and ``scaled`` whether it learns numbers on a scale;
    by default labels are what the data says they are. ``agree`` is how sites come to a common preparation, by what
    each has counted.
    """
    _check(clients=clients, partition=partition, kappa=kappa, seed=seed)
    reading = Reading(
        options=options,
        label=label,
        group=group,
        partition=partition,
        preparation=preparation,
        schema=None if schema is None else Path(schema),
        private=private is not None,
        classes=() if private is None else private.classes,
        labels=labels,
    )
    folder = None if data_dir is None else Path(data_dir)
    table = change(load_table(dataset, reading, seed=seed, data_dir=folder, progress=progress))
    _require_labels(table, labels, private=private is not None)
    name = partition or ("dirichlet" if table.group is None else "natural")
    request = PartitionRequest(clients=clients, kappa=kappa, clusters=clusters)
    if private is None:
        table, facts, places = _shuffled(table, name, request, seed, rows)
    else:
        table, facts, places = _by_coins(table, name, request, seed, rows, private)
    table = _with_common_scale(table, [train for _, train, _ in places])
    table = _with_label_scale(table, [train for _, train, _ in places], scaled=scaled)
    table, found = _agreed(table, places, agree)
    members = tuple(_client(table, *place) for place in places)
    return Federation(
        dataset=dataset if isinstance(dataset, str) else dataset.source,
        shape=members[0].train.X.shape[1:],
        class_names=table.class_names,
        clients=members,
        source=table.source,
        partition=name,
        preparation=described(table.prepare),
        learned=learns_from_rows(table.prepare),
        findings=table.findings,
        labels=table.labels,
        agreed=found,
        public=None if facts is None else completed(facts, members),
    )


def _shuffled(
    table: Table, partition: str, request: PartitionRequest, seed: int, rows: int | None
) -> tuple[Table, None, Sequence[Place]]:
    if rows is not None:
        table = table.sample(rows, stream(seed, DataPurpose.SAMPLE))
    shares, units = PARTITIONS[partition](table, request, stream(seed, DataPurpose.PARTITION)), Units.from_table(table)
    splits = [
        split_rows(table, units, share.rows, stream(seed, DataPurpose.SPLIT, i)) for i, share in enumerate(shares)
    ]
    return table, None, [(share, *split) for share, split in zip(shares, splits, strict=True)]


def _by_coins(
    table: Table, partition: str, request: PartitionRequest, seed: int, rows: int | None, public: PublicFacts
) -> tuple[Table, PublicFacts, Sequence[Place]]:
    table = with_lists(table, public)
    file_rows = public.file_rows or about(len(table))
    lists = {"classes": table.class_names, "groups": table.group_names, "file_rows": file_rows}
    if rows is not None:
        table = _sampled(table, seed, rows / file_rows)
    units, marks = Units.from_table(table), marks_of(table)
    shares = dealt(partition, table, units, request, Coins.from_seed(seed, marks), stream(seed, DataPurpose.PARTITION))
    places = []
    for site, share in enumerate(shares):
        own = Coins.from_seed(seed, [marks[unit] for unit in np.unique(units.of_row[share.rows])])
        places.append((share, *split_by_coins(table, units, share.rows, own, site)))
    return table, public.model_copy(update=lists), places


def _sampled(table: Table, seed: int, share: float) -> Table:
    """Each unit with probability ``share``. Twins at two sites are not numbered together: whether one of them is there
    must not decide about the other."""
    units = Units.from_table(table)
    coins = Coins.from_seed(seed, marks_of(table), None if table.group is None else table.group[units.first])
    chosen = (coins.thrown(DataPurpose.SAMPLE) < share)[units.of_row]
    return replace(table.part(chosen), source=f"{table.source}, about {share:.2g} of them")


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
    """Where the table asks for one: learned from all training rows, so that no site's mean tells its labels."""
    if table.learn is None:
        return table
    return replace(table, prepare=table.learn(table.X[np.concatenate(trained)]), learn=None)


def _require_labels(table: Table, wanted: LabelKind | None, *, private: bool) -> None:
    if wanted not in (None, table.labels.kind):
        raise BadInput(
            f"{table.source}: its labels are {_IN_WORDS[table.labels.kind]}, the task reads {_IN_WORDS[wanted]}. "
            "Choose another --task, or name other label columns."
        )
    if private and table.labels.kind == "number" and table.labels.scale is None:
        raise BadInput(
            f"{table.source}: a private study is told the range of its label without looking at records. Give low and "
            "high of `target` in the schema, or --data-option target=LOW,HIGH."
        )


def _with_label_scale(table: Table, trained: Sequence[Indices], *, scaled: bool) -> Table:
    """Numbers without a public range are learned on the scale of all training rows: what models answer is compared."""
    if not scaled:
        return replace(table, labels=Labels(table.labels.kind))
    if table.labels.kind != "number" or table.labels.scale is not None:
        return table
    return replace(table, labels=Labels("number", Scale.from_rows(table.y[np.concatenate(trained)])))


def _agreed(table: Table, places: Sequence[Place], agree: Agree) -> tuple[Table, Agreed | None]:
    """Where the table asks for one: a preparation that all sites agree on; one site alone has nobody to agree with."""
    plan = table.common
    if plan is None or len(places) == 1:
        return table, None
    found = agree({share.name: plan.counted(table.X[train]) for share, train, _ in places}, plan)
    return replace(table, prepare=common_preparation(plan.features, found), common=None), found


def _client(table: Table, share: Share, train: Indices, test: Indices) -> ClientData:
    raw, raw_test = (share.view.of_features(table.X[rows]) for rows in (train, test))
    train_X, test_X = table.prepare(raw, raw_test)
    train_y, test_y = (table.labels.for_model(share.view.of_labels(table.y[rows])) for rows in (train, test))
    recipe = {**recipe_of(table.prepare, raw), **share.view.recipe()}
    segments = None if table.segment is None else table.segment[train]
    own = Rows(train_X, train_y, table.persons_of(train), segments)
    return ClientData(name=share.name, train=own, test=Rows(test_X, test_y), recipe=recipe)
