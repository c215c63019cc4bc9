"""Files that differ in one record, for every way in which records come in: what tests about neighbours share."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
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
    schema: str = ""  # the text of a schema file
    mark: str = ","

    def config(self, folder: Path, public: PublicFacts | None = None) -> Config:
        dataset = self.settings.get("dataset", str(folder / self.file))
        fixed: dict[str, Any] = {"data_dir": folder, "dp_epsilon": 1.0, "dp_delta": 1e-5, "dp_public": public}
        if self.schema:
            (folder / "schema.toml").write_text(self.schema)
            fixed["data_schema"] = folder / "schema.toml"
        return Config(**{"clients": 3, **self.settings, "dataset": dataset, **fixed})

    def write(self, folder: Path, without: int | None = None) -> None:
        arrays = self.arrays(np.random.default_rng(5))
        if without is not None:
            gone = np.arange(self.rows_of_a_record) + without * self.rows_of_a_record
            arrays |= {name: np.delete(arrays[name], gone, axis=0) for name in self.by_record}
        listed = {name: values.tolist() for name, values in arrays.items()}
        if self.file.endswith(".csv"):
            rows = (self.mark.join(map(str, row)) for row in zip(*arrays.values(), strict=True))
            (folder / self.file).write_text("\n".join([self.mark.join(arrays), *rows]) + "\n", encoding="utf-8")
        elif self.file.endswith(".parquet"):
            table = import_module("pyarrow").table(listed)
            import_module("pyarrow.parquet").write_table(table, folder / self.file)
        elif self.file.endswith(".xlsx"):
            book = import_module("openpyxl").Workbook()
            for row in [list(listed), *zip(*listed.values(), strict=True)]:
                book.active.append(row)
            book.save(folder / self.file)
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


def twins_at_two_sites(rng: np.random.Generator) -> Arrays:
    """Every record once at `north` and once at `south`."""
    half = {name: values[: RECORDS // 2] for name, values in table(rng).items() if name != "group"}
    both = {name: np.concatenate([values, values]) for name, values in half.items()}
    return {**both, "group": np.repeat(["north", "south"], RECORDS // 2)}


def columns(rng: np.random.Generator) -> Arrays:
    arrays = table(rng)
    return {"a": arrays["X"][:, 0], "b": arrays["X"][:, 1], "ill": arrays["y"], "site": arrays["group"]}


MIXED = """\
label = "krank"
classes = ["ja", "nein"]
site = "Klinik"
person = "Patient"
identifiers = ["Fall"]
[[features]]
name = "Alter"
low = 0
high = 120
may_be_missing = true
[[features]]
name = "Größe"
kind = "categorical"
levels = ["groß", "klein"]
[[features]]
name = "raucht"
kind = "boolean"
[[features]]
name = "Tag"
kind = "date"
low = 2000-01-01
high = 2030-01-01
"""


def mixed(rng: np.random.Generator) -> Arrays:
    """Persons come two or three times; records 7 to 9 are equal; the last has a site to itself."""
    person, site = np.arange(RECORDS) // 2, rng.integers(0, 3, RECORDS // 2 + 1)
    person[9] = person[8]
    age = rng.integers(20, 90, RECORDS).astype(str)
    age[::11] = ""
    age[7:10] = "50"
    columns = {
        "Fall": np.arange(RECORDS),
        "Patient": np.char.add("P", person.astype(str)),
        "Klinik": np.array(["München", "Köln", "Łódź", "Århus"])[site[person]],
        "Alter": age,
        "Größe": np.array(["groß", "klein"])[rng.integers(0, 2, RECORDS)],
        "raucht": np.array(["ja", "NEIN"])[rng.integers(0, 2, RECORDS)],
        "Tag": np.array([f"20{year}-03-04" for year in rng.integers(10, 24, RECORDS)]),
        "krank": np.array(["nein", "ja"])[rng.integers(0, 2, RECORDS)],
    }
    for name in ("Größe", "raucht", "Tag", "krank"):
        columns[name][8:10] = columns[name][7]
    columns["Klinik"][-1] = "Århus"
    return columns


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
    **{
        f"a hospital table, {kind}": Case(
            file=f"klinik.{kind}",
            arrays=mixed,
            by_record=tuple(mixed(np.random.default_rng(0))),
            settings={"clients": None},
            schema=MIXED,
            mark=";",
        )
        for kind in ("csv", "parquet", "xlsx")
    },
    "a hospital table, iid": Case(
        file="klinik.csv",
        arrays=mixed,
        by_record=tuple(mixed(np.random.default_rng(0))),
        settings={"partition": "iid"},
        schema=MIXED,
        mark=";",
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
