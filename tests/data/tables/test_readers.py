"""Formats: the same table comes out the same, whichever file or frame it came in."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secure_sapefl.data import build_federation, frame_columns
from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.tables.readers import archive_columns, read_columns
from secure_sapefl.errors import BadInput

CELLS = {
    "Alter": ["61", "45", "", "50.5"],
    "Raucher": ["true", "false", "true", ""],
    "Tag": ["2020-01-02", "2021-03-04", "", "2022-05-06"],
    "Ort": ["Köln", "Łódź", "Köln", "Köln"],
}
VALUES: dict[str, list[Any]] = {
    "Alter": [61.0, 45.0, None, 50.5],
    "Raucher": [True, False, True, None],
    "Tag": [date(2020, 1, 2), date(2021, 3, 4), None, date(2022, 5, 6)],
    "Ort": ["Köln", "Łódź", "Köln", "Köln"],
}


def same(columns: Any) -> bool:
    return {name: list(cells) for name, cells in columns.cells.items()} == CELLS


def test_csv(tmp_path: Path) -> None:
    lines = [";".join(CELLS), *(";".join(row) for row in zip(*CELLS.values(), strict=True))]
    (tmp_path / "t.tsv").write_text("\n".join(lines), encoding="utf-8")
    assert same(read_columns(tmp_path / "t.tsv"))


def test_parquet(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(VALUES), tmp_path / "t.parquet")
    assert same(read_columns(tmp_path / "t.parquet"))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(BadInput, match="not a readable Parquet"):
        read_columns(tmp_path / "bad.parquet")


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(VALUES), *zip(*VALUES.values(), strict=True), []]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    columns = read_columns(tmp_path / "t.xlsx")
    assert same(columns)
    assert columns.found == "Excel, sheet 'Sheet'"
    (tmp_path / "bad.xlsx").write_bytes(b"PK")
    with pytest.raises(BadInput, match="not a readable Excel"):
        read_columns(tmp_path / "bad.xlsx")


def test_a_pandas_frame_and_its_federation() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES)
    assert same(frame_columns(frame))
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.normal(size=40), "sex": ["f", "m"] * 20, "y": ["a", "b", "b", "a"] * 10})
    federation = build_federation(frame_columns(frame), clients=2, partition="iid", kappa=1.0, seed=0, label="y")
    assert (federation.dataset, federation.shape, federation.class_names) == ("table", (3,), ("a", "b"))


def test_an_archive_names_its_columns_or_numbers_them() -> None:
    arrays = {"X": np.array([[1.0, 2.5], [np.nan, 4.0]]), "y": np.array([0, 1]), "group": np.array(["n", "s"])}
    columns = archive_columns(Arrays("a.npz", arrays), None)
    assert columns.cells == {"0": ["1", ""], "1": ["2.5", "4"], "group": ["n", "s"], "y": ["0", "1"]}
    named = archive_columns(Arrays("a.npz", {**arrays, "feature_names": np.array(["a", "b"])}), None)
    assert list(named.cells)[:2] == ["a", "b"]


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    (tmp_path / "t.xlsx").write_bytes(b"")
    monkeypatch.setattr("secure_sapefl.data.tables.readers.import_module", absent)
    with pytest.raises(
        BadInput, match=r"needs openpyxl. Install it \(pip install openpyxl\), or save the table as CSV"
    ):
        read_columns(tmp_path / "t.xlsx")


@pytest.mark.parametrize("name", ["t.doc", "t.parquet"])
def test_other_and_absent_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"a table is a|There is no file"):
        read_columns(tmp_path / name)
