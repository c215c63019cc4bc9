"""CSV tables: columns and lines are named, values never repeated."""

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.data.csv_file import read_csv
from secure_sapefl.errors import BadInput, UnknownName

GOOD = "age,hospital,outcome\n61,north,ill\n45,south,well\n50,north,well\n"


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "patients.csv"
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_with_label_and_group(tmp_path, encoding):
    arrays = read_csv(write(tmp_path, GOOD, encoding), "outcome", "hospital")
    assert arrays["X"].tolist() == [[61.0], [45.0], [50.0]]
    assert arrays["y"].tolist() == ["ill", "well", "well"]
    assert arrays["group"].tolist() == ["north", "south", "north"]


def test_it_becomes_a_federation_of_its_groups(tmp_path):
    rows = [f"{age},{'north' if age < 50 else 'south'},{age % 3 == 0}" for age in range(30, 70)]
    path = write(tmp_path, "\n".join(["age,hospital,outcome", *rows]))
    federation = build_federation(
        str(path), clients=None, partition=None, kappa=0.3, seed=0, label="outcome", group="hospital"
    )
    assert [client.name for client in federation.clients] == ["north", "south"]
    assert federation.class_names == ("False", "True")
    assert abs(float(np.mean(federation.clients[0].train.X))) < 1e-6


@pytest.mark.parametrize(
    ("text", "label", "group", "message"),
    [
        (GOOD, None, None, "which column is the label.*age, hospital, outcome"),
        (GOOD, "outcome", "outcome", "both the label and the group"),
        (GOOD, "outcome", None, "column 'hospital' is not a number in line 2"),
        ("a,y\n1,x\n,z\n", "y", None, "column 'a' has 1 missing values, the first in line 3"),
        ("a,y\n1,x\n?,z\n", "y", None, "column 'a' has 1 missing"),
        ("a,y\n1,x\n2,NA\n", "y", None, "column 'y' has 1 missing"),
        ("a,y\n1,x\n2\n", "y", None, "line 3: 1 cells, the header has 2"),
        ("a,a,y\n1,2,x\n", "y", None, "column 'a' appears more than once"),
        ("a,y\n", "y", None, "no rows below"),
        ("", "y", None, "no rows below"),
        (
            "age;outcome\n61,5;ill\n45;well\n",
            "outcome",
            None,
            "divided by semicolons, not by commas.*points",
        ),
        ("age\toutcome\n61\till\n45\twell\n", "outcome", None, "divided by tabs, not by commas. Save it as CSV"),
        ("age;outcome\n", "outcome", None, "semicolons"),
        ("y\nx\nz\n", "y", None, "no column left for features"),
    ],
)
def test_mistakes(tmp_path, text, label, group, message):
    with pytest.raises(BadInput, match=message):
        read_csv(write(tmp_path, text), label, group)


def test_one_semicolon_in_a_name_is_no_separator(tmp_path):
    path = write(tmp_path, "age; in years,weight,outcome\n61,70,ill\n45,80,well\n")
    assert read_csv(path, "outcome", None)["X"].tolist() == [[61.0, 70.0], [45.0, 80.0]]


def test_a_misspelt_column_gets_a_suggestion(tmp_path):
    with pytest.raises(UnknownName, match="Did you mean 'outcome'"):
        read_csv(write(tmp_path, GOOD), "outcom", None)


def test_an_infinite_number_is_refused_like_nan(tmp_path):
    path = write(tmp_path, "a,y\n1,x\ninf,z\n")
    with pytest.raises(BadInput, match=r"patients.csv: array 'X' has 1 values that are NaN, infinite"):
        build_federation(str(path), clients=1, partition="iid", kappa=1.0, seed=0, label="y")


def test_binary_and_absent_files(tmp_path):
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(BadInput, match="not a readable CSV"):
        read_csv(tmp_path / "b.csv", "y", None)
    with pytest.raises(BadInput, match="There is no file"):
        read_csv(tmp_path / "nowhere.csv", "y", None)


def test_no_error_repeats_a_value_of_the_data(tmp_path):
    with pytest.raises(BadInput) as error:
        read_csv(write(tmp_path, "name,y\nMiller-Smith,1\n"), "y", None)
    assert "Miller" not in str(error.value)
