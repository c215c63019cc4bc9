"""What one row of the file decides in a private run: rows put into the table as it was read, or taken out of it, and
the whole way from there to the training sets. The ledger counts training records; the promise is about the file.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from secure_sapefl.config import Config
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.data.build import Change
from secure_sapefl.data.split import TEST_SHARE
from secure_sapefl.data.table import Array, Table
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.labels import LabelKind
from secure_sapefl.protocol.messages import SiteId

WIDTH: Final = 4.0  # of a canary, in standard deviations of the data


@dataclass(frozen=True, slots=True)
class SiteCanaries:
    x: torch.Tensor  # [m, ...]
    y: torch.Tensor  # [m], or [m, columns] where labels are no classes
    included: NDArray[np.bool_]  # [m], the coins


@dataclass(frozen=True, slots=True)
class Moved:
    """Over some rows, each taken out of the file by itself: the most training records that came or went."""

    rows: int
    most: int

    def to_json(self) -> dict[str, Any]:
        return {"rows_removed": self.rows, "most_training_records_changed": self.most}


def rows_moved(config: Config, federation: Federation, count: int, rng: np.random.Generator) -> Moved:
    places = rng.random(count)

    def changed(place: float) -> int:
        return training_records_changed(federation, _from_file(config, federation, _without(place)))

    return Moved(count, max((changed(place) for place in places), default=0))


def training_records_changed(before: Federation, after: Federation) -> int:
    """Site by site, as multisets."""
    pairs = ((_records(a.train), _records(b.train)) for a, b in zip(before.clients, after.clients, strict=True))
    return sum(((a - b) + (b - a)).total() for a, b in pairs)


def plant_in_file(
    config: Config, federation: Federation, canaries: int, rng: np.random.Generator
) -> tuple[Federation, dict[SiteId, SiteCanaries]]:
    """A federation read from the file with some made-up rows in it, each by a coin. Which of them are trained on, and
    where, follows from the rows and the key: the auditor, who knows both, asks about those."""
    seed, count = int(rng.integers(1 << 32)), int(np.ceil(canaries / (1 - TEST_SHARE)))
    coins = rng.random(count) < 0.5
    everywhere = _from_file(config, federation, _with_made_up(seed, np.ones(count, np.bool_)))
    planted = _from_file(config, federation, _with_made_up(seed, coins))
    by_site = {
        own.name: _canaries(own, all_of_them, some)
        for own, all_of_them, some in zip(federation.clients, everywhere.clients, planted.clients, strict=True)
    }
    return planted, {site: found for site, found in by_site.items() if len(found.y)}


def _from_file(config: Config, federation: Federation, change: Change) -> Federation:
    pinned = config.model_copy(update={"dp_public": federation.public})
    whole = federation_of(pinned, change=change)
    return replace(whole, clients=whole.clients[: len(federation.clients)])  # without those who come late


def _without(place: float) -> Change:
    """One unit's row less, at this part of the table."""
    return lambda table: table.part(np.arange(len(table)) != int(place * len(table)))


def _with_made_up(seed: int, chosen: NDArray[np.bool_]) -> Callable[[Table], Table]:
    """Random rows with random labels, several deviations wide where values are not bytes."""

    def change(table: Table) -> Table:
        rng, count = np.random.default_rng(seed), len(chosen)
        X = _made_up(table.X, rng, count)[chosen]
        y = made_up_labels(table.labels.kind, table.y, len(table.class_names), count, rng)[chosen]
        like = rng.integers(0, len(table), count)[chosen]  # whose group it joins
        return replace(
            table,
            X=np.concatenate([table.X, X]),
            y=np.concatenate([table.y, y]),
            group=None if table.group is None else np.concatenate([table.group, table.group[like]]),
            segment=None if table.segment is None else np.concatenate([table.segment, _unused(table, chosen)]),
            split=None if table.split is None else np.concatenate([table.split, np.zeros_like(like)]),
        )

    return change


def made_up_labels(kind: LabelKind, y: Array, classes: int, count: int, rng: np.random.Generator) -> Array:
    """Any class; of anything else, each column's least or greatest of the labels ``y`` [n, K], by a coin: where a
    model is most wrong, and within whatever range was agreed."""
    if kind == "class":
        return rng.integers(0, classes, count)
    return np.asarray(np.where(rng.random((count, y.shape[1])) < 0.5, y.min(0), y.max(0)), dtype=y.dtype)


def _made_up(X: Array, rng: np.random.Generator, count: int) -> Array:
    if X.dtype == np.uint8:
        return rng.integers(0, 256, (count, *X.shape[1:]), dtype=np.uint8)
    mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    return np.asarray(mean + WIDTH * deviation * rng.normal(size=(count, *X.shape[1:])), dtype=X.dtype)


def _unused(table: Table, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    assert table.segment is not None
    return np.flatnonzero(chosen) + int(table.segment.max()) + 1


def _canaries(own: ClientData, everywhere: ClientData, planted: ClientData) -> SiteCanaries:
    ordinary = _records(own.train) + _records(own.test)
    rows, there = everywhere.train, _records(planted.train)
    made_up = np.array([key not in ordinary for key in _keys(rows)], dtype=np.bool_)
    included = np.array([key in there for key in _keys(rows)], dtype=np.bool_)
    return SiteCanaries(torch.from_numpy(rows.X[made_up]), torch.from_numpy(rows.y[made_up]), included[made_up])


def _records(rows: Rows) -> Counter[bytes]:
    return Counter(_keys(rows))


def _keys(rows: Rows) -> list[bytes]:
    return [x.tobytes() + y.tobytes() for x, y in zip(rows.X, rows.y, strict=True)]
