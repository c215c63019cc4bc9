"""From a site's own file to the rows its model sees, the same way in a deployment and in its simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.coins import Coins, marks_of
from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.prepare import Array, Floats, recipe_of
from secure_sapefl.data.split import split_by_coins, split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.data.tables.preparation import preparation
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import ImageSchema, Schema
from secure_sapefl.data.tables.values import table_of
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.study.file import StudyFile

_FEWEST_ROWS = 5  # of which one is for testing


@dataclass(frozen=True, slots=True)
class SiteRows:
    """A site's records, checked against the study's schema and divided 80/20, not yet prepared."""

    table: Table
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def prepared(self, name: SiteId) -> ClientData:
        table = self.table
        raw = table.X[self.train]
        train_X, test_X = table.prepare(raw, table.X[self.test])
        train, test = Rows(train_X, table.y[self.train]), Rows(test_X, table.y[self.test])
        return ClientData(name=name, train=train, test=test, recipe=recipe_of(table.prepare, raw))

    def prepare(self, records: Array) -> Floats:
        """New records as the training rows are prepared."""
        return self.table.prepare(self.table.X[self.train], records)[1]


def load_site(path: Path, study: StudyFile, site: SiteId) -> ClientData:
    """A site's rows as its model sees them."""
    return load_rows(path, study, site).prepared(site)


def load_rows(path: Path, study: StudyFile, site: SiteId) -> SiteRows:
    table, place = load_table(path, study.data), study.index(site)
    if study.privacy is not None:  # by coins, and whatever the number of records
        coins = Coins.from_seed(study.seed, marks_of(table))
        return SiteRows(table, *split_by_coins(table, Units.from_table(table), np.arange(len(table)), coins, place))
    if len(table) < _FEWEST_ROWS:
        raise BadInput(f"{table.source}: a site needs at least {_FEWEST_ROWS} of them.")
    rng = stream(study.seed, DataPurpose.SPLIT, place)
    train, test = split_rows(table, Units.from_table(table), np.arange(len(table)), rng)
    if len(train) > study.largest_site:
        raise BadInput(
            f"{table.source}, {len(train):,} of them to train on: more than the {study.largest_site:,} that the study "
            "declares for its largest site. Ask the coordinator to raise largest_site, or use fewer."
        )
    return SiteRows(table, train, test)


def federation(study: StudyFile, files: Mapping[SiteId, Path]) -> Federation:
    """All sites of a study, each from its file: the study as the simulator runs it."""
    return Federation(
        dataset=study.name,
        shape=study.data.shape,
        class_names=study.data.classes,
        clients=tuple(load_site(files[site], study, site) for site in study.sites),
        source=f"{len(study.sites)} files",
        partition="natural",
        learned=study.data.learns_from_rows,
    )


def load_table(path: Path, schema: Schema) -> Table:
    if not isinstance(schema, ImageSchema):
        return replace(table_of(read_columns(path, schema), schema), group=None, group_names=())
    X, y = _read_images(path, schema)
    return Table(
        X=X, y=y, class_names=schema.classes, source=f"{path.name}, {len(y):,} records", prepare=preparation(schema)
    )


def _read_images(path: Path, schema: ImageSchema) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if path.suffix != ".npz":
        raise BadInput(f"{path.name}: images come in an .npz with arrays X and y. Convert it.")
    arrays = read_npz(path)
    X = images_of(arrays, schema)
    if "class_names" in arrays and arrays.strings("class_names") != schema.classes:
        raise arrays.bad("class_names", f"is not the study's list of classes: {', '.join(schema.classes)}")
    return X, arrays.integers("y", len(X), len(schema.classes))


def images_of(arrays: Arrays, schema: ImageSchema) -> NDArray[np.uint8]:
    X = arrays["X"]
    size = (schema.height, schema.width)
    allowed = {(*size, schema.channels)} | ({size} if schema.channels == 1 else set())
    if X.dtype != np.uint8 or X.shape[1:] not in allowed or not len(X):
        raise arrays.bad(
            "X", f"is {X.dtype} of shape {X.shape}, expected bytes (uint8) of shape (n, {str(max(allowed))[1:]}"
        )
    return X
