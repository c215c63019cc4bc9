"""Files that differ in one record, for every way in which records come in: what tests about neighbours share."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import Config, PublicFacts
from secure_sapefl.data import ClientData, Federation
from secure_sapefl.data.coins import Coins
from secure_sapefl.data.split import split_rows
from secure_sapefl.data.streams import DataPurpose, stream
from secure_sapefl.data.table import Table, Units
from secure_sapefl.engine.assembly import federation_of

Arrays = dict[str, NDArray[Any]]
RECORDS = 60


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, which of its arrays have an entry a record, and how it is read."""

    file: str
    arrays: Callable[[np.random.Generator], Arrays]
    by_record: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    rows_of_a_record: int = 1

    def config(self, folder: Path, public: PublicFacts | None = None) -> Config:
        dataset = self.settings.get("dataset", str(folder / self.file))
        fixed = {"data_dir": folder, "dp_epsilon": 1.0, "dp_delta": 1e-5, "dp_public": public}
        return Config(**{"clients": 3, **self.settings, "dataset": dataset, **fixed})

    def write(self, folder: Path, without: int | None = None) -> None:
        arrays = self.arrays(np.random.default_rng(5))
        if without is not None:
            gone = np.arange(self.rows_of_a_record) + without * self.rows_of_a_record
            arrays |= {name: np.delete(arrays[name], gone, axis=0) for name in self.by_record}
        if self.file.endswith(".csv"):
            columns = list(arrays)
            lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*arrays.values(), strict=True))]
            (folder / self.file).write_text("\n".join(lines) + "\n")
        else:
            np.savez(folder / self.file, **arrays)

    def federation(self, folder: Path, without: int | None = None, public: PublicFacts | None = None) -> Federation:
        self.write(folder, without)
        return federation_of(self.config(folder, public))


def labels(rng: np.random.Generator, classes: int = 3) -> NDArray[np.int64]:
    """The last class has one record only, the very first."""
    y = rng.integers(0, classes - 1, RECORDS)
    y[0] = classes - 1
    return y


def table(rng: np.random.Generator) -> Arrays:
    """Records 7, 8 and 9 are equal; the first has a class to itself, the last a group."""
    X, y, group = rng.normal(size=(RECORDS, 3)), labels(rng), rng.integers(0, 3, RECORDS)
    X[8], y[8], group[8] = X[7], y[7], group[7]
    X[9], y[9], group[9] = X[7], y[7], group[7]
    group[-1] = 3
    return {"X": X, "y": y, "group": np.array(["north", "east", "south", "west"])[group]}


def columns(rng: np.random.Generator) -> Arrays:
    arrays = table(rng)
    return {"a": arrays["X"][:, 0], "b": arrays["X"][:, 1], "ill": arrays["y"], "site": arrays["group"]}


def images(rng: np.random.Generator) -> Arrays:
    return {"X": rng.integers(0, 256, (RECORDS, 8, 8), dtype=np.uint8), "y": labels(rng).astype(np.uint8)}


def named(arrays: Arrays, count: int = 3) -> Arrays:
    return {**arrays, "class_names": np.array([f"class {k}" for k in range(count)])}


def heart(rng: np.random.Generator) -> Arrays:
    X = rng.uniform(0, 100, (RECORDS, 13)).astype(np.float32)
    X[::7, 11] = np.nan
    y, hospital = labels(rng, 2).astype(np.uint8), rng.integers(0, 4, RECORDS).astype(np.uint8)
    return named({"X": X, "y": y, "hospital": hospital, "hospital_names": np.array(["a", "b", "c", "d"])}, 2)


def har(rng: np.random.Generator) -> Arrays:
    """Segments of one window and of two, with what belongs to a segment the same in each of them."""
    segment = np.repeat(np.arange(40), [1, 2] * 20)
    y, subject = (rng.integers(0, top, 40).astype(np.uint8)[segment] for top in (3, 2))
    windows = rng.normal(size=(RECORDS, 128, 9)).astype(np.float32)
    return named({"X": windows, "y": y, "subject": subject, "segment": segment.astype(np.int16)})


def accgyro(rng: np.random.Generator) -> Arrays:
    y = np.repeat(labels(rng, 2), 10).astype(np.uint8)
    return named({"X": rng.normal(size=(10 * RECORDS, 6)).astype(np.float32), "y": y}, 2)


AS_IS = {"data_options": {"standardise": "none"}}
OWN = Case(file="own.npz", arrays=table, by_record=("X", "y", "group"), settings={**AS_IS, "clients": None})
IMAGES = Case(
    file="mnist.npz", arrays=lambda rng: named(images(rng)), by_record=("X", "y"), settings={"dataset": "mnist"}
)
HAR = Case(
    file="uci_har.npz",
    arrays=har,
    by_record=("X", "y", "subject", "segment"),
    settings={"dataset": "har", "clients": None},
)


def _own(**settings: Any) -> Case:
    return Case(file="own.npz", arrays=table, by_record=("X", "y", "group"), settings={**AS_IS, **settings})


CASES = {
    "own table, its groups": OWN,
    "own table, some of its groups": _own(clients=2),
    "own table, iid": _own(partition="iid"),
    "own table, dirichlet": _own(partition="dirichlet"),
    "own table, clustered": _own(partition="clustered", clusters=2),
    "own table, a part of its rows": _own(clients=None, rows=40),
    "own table with a split": Case(
        file="own.npz",
        arrays=lambda rng: {**table(rng), "split": np.arange(RECORDS) % 2},
        by_record=("X", "y", "group", "split"),
        settings=AS_IS,
    ),
    "own table with class names": Case(
        file="own.npz", arrays=lambda rng: named(table(rng)), by_record=("X", "y", "group"), settings=AS_IS
    ),
    "own CSV, its groups": Case(
        file="own.csv",
        arrays=columns,
        by_record=("a", "b", "ill", "site"),
        settings={**AS_IS, "label": "ill", "group": "site", "clients": None},
    ),
    "own CSV, dirichlet": Case(
        file="own.csv",
        arrays=lambda rng: {name: values for name, values in columns(rng).items() if name != "site"},
        by_record=("a", "b", "ill"),
        settings={**AS_IS, "label": "ill"},
    ),
    "own images of bytes": Case(file="own.npz", arrays=images, by_record=("X", "y"), settings={"partition": "iid"}),
    "own images of numbers": Case(
        file="own.npz",
        arrays=lambda rng: {**images(rng), "X": rng.normal(size=(RECORDS, 6, 6, 3))},
        by_record=("X", "y"),
    ),
    "registered images": IMAGES,
    "registered images, clustered": Case(
        file="mnist.npz",
        arrays=IMAGES.arrays,
        by_record=("X", "y"),
        settings={"dataset": "mnist", "partition": "clustered", "clusters": 3},
    ),
    "heart": Case(
        file="heart_disease.npz",
        arrays=heart,
        by_record=("X", "y", "hospital"),
        settings={"dataset": "heart", "clients": None, "data_options": {"standardise": "public"}},
    ),
    "har, its persons": HAR,
    "har, dirichlet": Case(
        file="uci_har.npz",
        arrays=har,
        by_record=("X", "y", "subject", "segment"),
        settings={"dataset": "har", "partition": "dirichlet"},
    ),
    "har, a part of its rows": Case(
        file="uci_har.npz",
        arrays=har,
        by_record=("X", "y", "subject", "segment"),
        settings={"dataset": "har", "clients": None, "rows": 40},
    ),
    "accgyro, a window less": Case(
        file="accgyro.npz",
        arrays=accgyro,
        by_record=("X", "y"),
        settings={"dataset": "accgyro", "partition": "iid"},
        rows_of_a_record=10,
    ),
}
REMOVED = (0, 7, 9, *range(14, RECORDS, 5))


def changed(before: Iterable[ClientData], after: Iterable[ClientData]) -> int:
    """Training records that are in one of two federations and not in the other, site by site, as multisets."""
    pairs = ((_records(one), _records(other)) for one, other in zip(before, after, strict=True))
    return sum(((one - other) + (other - one)).total() for one, other in pairs)


def _records(client: ClientData) -> Counter[bytes]:
    return Counter(x.tobytes() + y.tobytes() for x, y in zip(client.train.X, client.train.y, strict=True))


def stratified(
    table: Table, units: Units, rows: NDArray[np.int64], coins: Coins, site: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The mutant: a private study that divides its rows as others do, by a stratified permutation over all of them."""
    if len(coins.marks) < 2:
        return rows, rows[:0]
    return split_rows(table, units, rows, stream(coins.seed, DataPurpose.SPLIT, site))
