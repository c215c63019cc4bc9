"""Delimited files: what is found out about them, and that one line decides nothing about another."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.data.own import Reading, own_table
from secure_sapefl.data.tables.delimited import read_delimited
from secure_sapefl.errors import BadInput, UnknownName

GOOD = "age,hospital,outcome\n61,north,ill\n45,south,well\n50,north,well\n"


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "patients.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("mark", "name"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_separator_and_encoding_are_found_and_said(tmp_path: Path, encoding: str, mark: str, name: str) -> None:
    columns = read_delimited(write(tmp_path, GOOD.replace(",", mark), encoding))
    assert columns.cells["hospital"] == ("north", "south", "north")
    assert name in columns.found
    assert encoding.upper().removesuffix("-SIG") in columns.found


def test_decimal_commas_are_points_where_commas_part_no_columns(tmp_path: Path) -> None:
    columns = read_delimited(write(tmp_path, "a;b\n-61,5;one, two\n3;4,x\n"))
    assert columns.cells == {"a": ("-61.5", "3"), "b": ("one, two", "4,x")}


@pytest.mark.parametrize("mark", [";", "\t", ","])
def test_the_separator_that_excel_writes_above_the_header(tmp_path: Path, mark: str) -> None:
    columns = read_delimited(write(tmp_path, f"sep={mark}\r\n" + GOOD.replace(",", mark).replace("\n", "\r\n")))
    assert columns.cells["hospital"] == ("north", "south", "north")
    with pytest.raises(BadInput, match="line 6: 1 cells"):
        read_delimited(write(tmp_path, f"sep={mark}\n" + GOOD.replace(",", mark) + "61\n"))


def test_letters_of_two_characters_are_one(tmp_path: Path) -> None:
    columns = read_delimited(write(tmp_path, "Gro\u0308ße,Stadt\n61,Ko\u0308ln\n"))
    assert columns.cells == {"Größe": ("61",), "Stadt": ("Köln",)}


def test_lines_of_separators_alone_are_no_records(tmp_path: Path) -> None:
    assert len(read_delimited(write(tmp_path, GOOD + ",,\n , ,\n\n"))) == 3


def test_empty_columns_at_the_end_are_none(tmp_path: Path) -> None:
    """A spreadsheet writes them, in the header, in records, or in both. What stands there without a name is refused."""
    columns = read_delimited(write(tmp_path, "a;b;;\n1;;;\n3;4\n"))
    assert columns.cells == {"a": ("1", "3"), "b": ("", "4")}
    for text in ("a;b;;\n1;2;;5\n", "a;b\n1;2;5\n", "a;b;;\n1\n"):
        with pytest.raises(BadInput, match=r"line 2: \d cells, the header has 2"):
            read_delimited(write(tmp_path, text))


def test_windows_letters_are_read_line_by_line(tmp_path: Path) -> None:
    """A line that is not UTF-8 changes itself alone: the other keeps its Unicode."""
    path = tmp_path / "patients.csv"
    path.write_bytes("Stadt;y\nMünchen;1\n".encode() + "Köln;0\n".encode("cp1252"))
    columns = read_delimited(path)
    assert columns.cells["Stadt"] == ("München", "Köln")
    assert "Windows-1252 where not UTF-8" in columns.found


def test_one_semicolon_in_a_name_is_no_separator(tmp_path: Path) -> None:
    columns = read_delimited(write(tmp_path, "age; in years,weight,outcome\n61,70,ill\n45,80,well\n"))
    assert list(columns.cells) == ["age; in years", "weight", "outcome"]


def test_it_becomes_a_federation_of_its_groups(tmp_path: Path) -> None:
    rows = [f"{age},{'north' if age < 50 else 'south'},{age % 3 == 0}" for age in range(30, 70)]
    path = write(tmp_path, "\n".join(["age,hospital,outcome", *rows]))
    federation = build_federation(
        str(path),
        clients=None,
        partition=None,
        kappa=0.3,
        seed=0,
        label="outcome",
        group="hospital",
        preparation="site",
    )
    assert [client.name for client in federation.clients] == ["north", "south"]
    assert federation.class_names == ("False", "True")
    assert abs(float(np.mean(federation.clients[0].train.X))) < 1e-6


@pytest.mark.parametrize(
    ("text", "label", "group", "message"),
    [
        (GOOD, None, None, "which column is the label.*age, hospital, outcome"),
        (GOOD, "outcome", "outcome", "cannot be two of the label, the site"),
        ("a,y\n1,x\n2,NA\n", "y", None, "column 'y' has 1 missing values, the first in line 3"),
        ("a,y\n1,x\n2\n", "y", None, "line 3: 1 cells, the header has 2"),
        ("a,a,y\n1,2,x\n", "y", None, "column 'a' appears more than once"),
        (",a,y\n0,2,x\n1,3,z\n", "y", None, "column 1 .counted from 1. has no name in the header line"),
        ("a,y\n", "y", None, "no rows below"),
        ("", "y", None, "no rows below"),
        ("y\nx\nz\n", "y", None, "no column left for features"),
        ("a,y\n1,x\n2,x\n", "y", None, "a single class"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, label: str | None, group: str | None, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        own_table(write(tmp_path, text), Reading(label=label, group=group))


def test_a_misspelt_column_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'outcome'"):
        own_table(write(tmp_path, GOOD), Reading(label="outcom"))


def test_binary_and_absent_files(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"a\x00,b\n1,2\n")
    with pytest.raises(BadInput, match="not a readable CSV"):
        read_delimited(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_bytes(b"a,b\n1,\x81\n")
    with pytest.raises(BadInput, match="not a readable CSV"):
        read_delimited(tmp_path / "c.csv")
    with pytest.raises(BadInput, match="There is no file"):
        read_delimited(tmp_path / "nowhere.csv")


def test_no_error_of_a_private_study_repeats_a_value_and_all_say_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path, "name,y\nMiller-Smith,1\nx,0\n")
    with pytest.raises(BadInput, match=r"column 'name', line 2: not a number.*data schema") as error:
        own_table(path, Reading(label="y", private=True))
    assert "Miller" not in str(error.value)
