"""From a site's own file to the rows its model sees, the same way in a deployment and in its simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import Agreed
from secure_sapefl.data.arrays import Arrays, read_npz
from secure_sapefl.data.build import agreed_here
from secure_sapefl.data.coins import Coins, marks_of
from secure_sapefl.data.federation import ClientData, Federation, Rows
from secure_sapefl.data.folders.labelled import folder_table
from secure_sapefl.data.prepare import Array, Floats, recipe_of
from secure_sapefl.data.split import split_by_coins, split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.data.tables.common import common_preparation
from secure_sapefl.data.tables.preparation import preparation
from secure_sapefl.data.tables.readers import read_columns
from secure_sapefl.data.tables.schema import ImageSchema, Schema, TableSchema
from secure_sapefl.data.tables.tally import CountPlan, Counts
from secure_sapefl.data.tables.values import table_of
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.file import StudyFile

_FEWEST_ROWS = 5  # of which one is for testing


@dataclass(frozen=True, slots=True)
class SiteRows:
    """A site's records, checked against the study's schema and divided 80/20, not yet prepared."""

    table: Table
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    plan: CountPlan | None = None  # what is counted before the first round, where sites agree on a preparation

    def prepared(self, name: SiteId) -> ClientData:
        table = self.table
        raw = table.X[self.train]
        train_X, test_X = table.prepare(raw, table.X[self.test])
        train_y, test_y = (table.labels.for_model(table.y[rows]) for rows in (self.train, self.test))
        train, test = Rows(train_X, train_y, table.persons_of(self.train)), Rows(test_X, test_y)
        return ClientData(name=name, train=train, test=test, recipe=recipe_of(table.prepare, raw))

    def prepare(self, records: Array) -> Floats:
        """New records as the training rows are prepared."""
        return self.table.prepare(self.table.X[self.train], records)[1]

    def agreed(self, found: Agreed | None) -> "SiteRows":
        """With what sites agreed on, in a study with a common preparation; without it, none of these is ready."""
        if self.plan is None:
            return self
        prepare = _not_agreed if found is None else common_preparation(self.plan.features, found)
        return replace(self, table=replace(self.table, prepare=prepare))

    def counts(self) -> Counts:
        """What this site adds to the totals that a common preparation is made from."""
        assert self.plan is not None, "a study with a common preparation"
        return self.plan.counted(self.table.X[self.train])


def load_site(path: Path, study: StudyFile, site: SiteId) -> ClientData:
    """A site's rows as its model sees them, where it has to agree with nobody on that."""
    return load_rows(path, study, site).prepared(site)


def load_rows(path: Path, study: StudyFile, site: SiteId, found: Agreed | None = None) -> SiteRows:
    """``found`` is what sites agreed on (`site/counting.py`), in a study with a common preparation."""
    return _divided(path, study, site).agreed(found)


def _divided(path: Path, study: StudyFile, site: SiteId) -> SiteRows:
    table, place = _scaled(load_table(path, study.data), study), study.index(site)
    plan = _count_plan(study)
    if study.privacy is not None:  # by coins, and whatever the number of records
        coins = Coins.from_seed(study.seed, marks_of(table))
        return SiteRows(
            table, *split_by_coins(table, Units.from_table(table), np.arange(len(table)), coins, place), plan
        )
    if len(table) < _FEWEST_ROWS:
        raise BadInput(f"{table.source}: a site needs at least {_FEWEST_ROWS} of them.")
    rng = stream(study.seed, DataPurpose.SPLIT, place)
    train, test = split_rows(table, Units.from_table(table), np.arange(len(table)), rng)
    if len(train) > study.largest_site:
        raise BadInput(
            f"{table.source}, {len(train):,} of them to train on: more than the {study.largest_site:,} that the study "
            "declares for its largest site. Ask the coordinator to raise largest_site, or use fewer."
        )
    return SiteRows(table, train, test, plan)


def counts_of_all(path: Path, terms: CountingTerms) -> Counts:
    """What a site adds to a Table 1: all its records, by outcome."""
    table = load_table(path, terms.payer.data)
    return terms.plan.counted(table.X, table.y)


def federation(study: StudyFile, files: Mapping[SiteId, Path]) -> Federation:
    """All sites of a study, each from its file: the study as the simulator runs it."""
    rows = {site: load_rows(files[site], study, site) for site in study.sites}
    found = _agreed(rows)
    return Federation(
        dataset=study.name,
        shape=study.data.shape,
        class_names=study.data.label_names,
        clients=tuple(one.agreed(found).prepared(site) for site, one in rows.items()),
        source=f"{len(study.sites)} files",
        partition="natural",
        learned=study.scaled_by == "site",
        agreed=found,
        labels=study.data.label_is,
    )


def _agreed(rows: Mapping[SiteId, SiteRows]) -> Agreed | None:
    plan = next(iter(rows.values())).plan
    return None if plan is None else agreed_here({site: one.counts() for site, one in rows.items()}, plan)


def _not_agreed(*_: Array) -> tuple[Floats, Floats]:
    raise BadInput("The sites of this study have not agreed on a preparation yet: it is there after their first sum.")


def _count_plan(study: StudyFile) -> CountPlan | None:
    if study.preparation != "common" or not isinstance(study.data, TableSchema):
        return None
    return CountPlan(study.data.features)


def _scaled(table: Table, study: StudyFile) -> Table:
    """By the study's word, where it says something else than its schema."""
    if not isinstance(study.data, TableSchema) or study.preparation is None:
        return table
    scaling = "site" if study.preparation == "site" else "range"
    return replace(table, prepare=preparation(study.data.model_copy(update={"scaling": scaling})))


def load_table(path: Path, schema: Schema) -> Table:
    if not isinstance(schema, ImageSchema):
        return replace(table_of(read_columns(path, schema), schema), group=None, group_names=())
    if path.is_dir():
        return replace(folder_table(path, schema), group=None, group_names=())
    X, y = _read_images(path, schema)
    return Table(
        X=X, y=y, class_names=schema.classes, source=f"{path.name}, {len(y):,} records", prepare=preparation(schema)
    )


def _read_images(path: Path, schema: ImageSchema) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if path.suffix != ".npz":
        raise BadInput(f"{path.name}: images come in an .npz with arrays X and y, or in a folder. Convert it.")
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
