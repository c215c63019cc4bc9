"""A site's own file: what fits the schema becomes rows; what does not is named by column and line, never by value."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from secure_sapefl.data import build_federation
from secure_sapefl.data.tables.preparation import preparation
from secure_sapefl.data.tables.schema import read_schema, schema_text
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.errors import BadInput, SapeflError
from secure_sapefl.site.data import federation, load_rows, load_site, load_table
from secure_sapefl.study.file import StudyFile
from secure_sapefl.study.mock import mock_file
from secure_sapefl.study.terms import StudyTerms

MakeStudy = Callable[..., StudyFile]
GOOD = "age,sex,chol,disease\n" + "".join(
    f"{age},{'f' if age % 2 else 'm'},{'' if age == 50 else 200},{'yes' if age > 55 else 'no'}\n"
    for age in range(40, 70)
)
IMAGES: dict[str, Any] = {"kind": "images", "height": 6, "width": 5, "classes": ["cat", "dog"]}


@pytest.fixture
def csv(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "a.csv"
        path.write_text(text)
        return path

    return write


def test_numbers_by_range_levels_as_columns_and_what_is_missing_in_the_middle(
    study: StudyFile, csv: Callable[[str], Path]
) -> None:
    table = load_table(csv("age,sex,chol,disease\n0,f,600,no\n60,m,,yes\n120,f,150,no\n"), study.data)
    rows, _ = table.prepare(table.X, table.X)
    half = math.sqrt(3)  # of a range, in units of the deviation of evenly spread values
    expected = [[-half, half, 1, 0], [0, 0, 0, 1], [half, -half / 2, 1, 0]]  # age, chol, sex is f, sex is m
    np.testing.assert_allclose(rows, expected, rtol=1e-6)
    assert table.y.tolist() == [0, 1, 0]
    assert rows.dtype == np.float32


def test_a_missing_value_is_typical(tmp_path: Path) -> None:
    chol = {"name": "chol", "low": 100, "high": 600, "typical": 220, "may_be_missing": True}
    schema = read_schema({"label": "y", "classes": ["n", "p"], "features": [chol]})
    rows = preparation(schema)(np.array([[np.nan], [220.0], [600.0]]), np.zeros((0, 1)))[0]
    np.testing.assert_allclose(rows[:, 0], [0, 0, 380 / (500 / math.sqrt(12))], rtol=1e-6)


def test_columns_may_come_in_any_order(study: StudyFile, csv: Callable[[str], Path]) -> None:
    table = load_table(csv("disease,chol,age,sex\nno,10,1,m\n"), study.data)
    assert table.X.tolist() == [[1, 1, 10]]


def test_scaling_by_the_site_learns_from_training_rows_only(make_study: MakeStudy, csv: Callable[[str], Path]) -> None:
    schema = {"label": "y", "classes": ["n", "p"], "features": [{"name": "x"}], "scaling": "site"}
    study = make_study(data=schema)
    path = csv("x,y\n" + "".join(f"{k},{'np'[k % 2]}\n" for k in range(30)))
    client = load_site(path, study, "a")
    assert client.train.X.mean() == pytest.approx(0, abs=1e-6)
    assert client.train.X.std() == pytest.approx(1, abs=1e-6)
    assert abs(client.test.X.mean()) > 1e-3


@pytest.mark.parametrize("how", ["site", "common"])
def test_a_site_divides_its_rows_as_the_simulator_does(
    make_study: MakeStudy, tmp_path: Path, how: Literal["site", "common"]
) -> None:
    """Four sites as one CSV with a group column, and as a file each: the same rows, bit for bit."""
    rng = np.random.default_rng(3)
    rows = [(name, *rng.normal(size=2).round(3), "np"[k % 2]) for name in "abc" for k in range(20)]
    whole = tmp_path / "all.csv"
    whole.write_text("site,u,v,y\n" + "".join(f"{s},{u},{v},{y}\n" for s, u, v, y in rows))
    files = {name: tmp_path / f"{name}.csv" for name in "abc"}
    for name, path in files.items():
        path.write_text("u,v,y\n" + "".join(f"{u},{v},{y}\n" for s, u, v, y in rows if s == name))
    features = [{"name": name, "low": -4, "high": 4} for name in "uv"]
    schema = {"label": "y", "classes": ["n", "p"], "features": features, "site": "site"}
    study = make_study(data=schema, seed=5, preparation=how)
    (tmp_path / "schema.toml").write_text(schema_text(study.data))
    ours = federation(study, files)
    schema_path = tmp_path / "schema.toml"
    theirs = build_federation(
        str(whole), clients=None, partition=None, kappa=1.0, seed=5, schema=schema_path, preparation=how
    )
    assert ours.shape == theirs.shape
    for mine, reference in zip(ours.clients, theirs.clients, strict=True):
        assert mine.name == reference.name
        for one, other in ((mine.train, reference.train), (mine.test, reference.test)):
            assert np.array_equal(one.X, other.X)
            assert np.array_equal(one.y, other.y)


def test_the_simulator_runs_the_study_on_the_sites_files(make_study: MakeStudy, tmp_path: Path) -> None:
    study = make_study(rounds=1, largest_site=24)
    files = {name: tmp_path / f"{name}.csv" for name in study.sites}
    for place, path in enumerate(files.values()):
        path.write_bytes(mock_file(study.data, rows=30, seed=0, place=place))
    simulation = Simulation(assemble(study.config().model_copy(update={"workers": 0}), federation(study, files)))
    assert (
        replace(simulation.assembly.blueprint.study, name=study.wire_name)
        == StudyTerms.from_file(study).blueprint.study
    )
    assert simulation.run().facts["client_names"] == ["a", "b", "c"]


def test_new_records_are_prepared_as_the_training_rows_were(study: StudyFile, csv: Callable[[str], Path]) -> None:
    rows = load_rows(csv(GOOD), study, "a")
    assert rows.prepare(np.array([[60.0, 1.0, np.nan]])).tolist() == [[0, 0, 0, 1]]
    assert len(rows.train) + len(rows.test) == 30


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD.replace("chol", "cholesterol", 1), "a.csv has no column 'chol', which the study needs"),
        (GOOD.replace("age,sex,chol,disease", "age,sex,chol,illness"), "has no column 'disease'"),
        ("name," + GOOD.replace("\n", "\nx,").removesuffix("x,"), "column 'name' is not in the study's schema; remove"),
        (GOOD.replace("\n41,", "\nforty,"), "column 'age', line 3: not a number"),
        (GOOD.replace("\n41,", "\n,"), "column 'age', line 3: the value is missing"),
        (GOOD.replace("\n41,", "\nNaN,"), "column 'age', line 3: the value is missing"),
        (GOOD.replace("\n41,", "\ninf,"), "column 'age', line 3: not a number that can be computed with"),
        (GOOD.replace("\n41,", "\n141,"), "column 'age', line 3: outside the study's range 0 to 120. Correct"),
        (GOOD.replace("41,f", "41,female"), "column 'sex', line 3: not one of the study's levels: f, m"),
        (
            GOOD.replace("yes\n", "maybe\n", 1),
            "column 'disease', line 18: not a class of the study; classes are",
        ),
        (GOOD.replace("yes\n", "\n", 1), "column 'disease', line 18: the class is missing"),
        ("age,sex,chol,disease\n1,f,2,no\n", "at least 5"),
        ("age,sex,chol,disease\n", "no rows below"),
        (GOOD + "1,f\n", "line 32: 2 cells, the header has 4"),
        ("age,age,sex,chol,disease\n1,1,f,2,no\n", "appears more than once"),
    ],
)
def test_what_does_not_fit_is_named(
    make_study: MakeStudy, csv: Callable[[str], Path], text: str, sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence) as caught:
        load_site(csv(text), make_study(), "a")
    assert caught.value.exit_code == 2
    assert not {"forty", "141", "female", "maybe"} & set(str(caught.value).split())


def test_more_rows_than_the_study_declares_are_refused(make_study: MakeStudy, csv: Callable[[str], Path]) -> None:
    with pytest.raises(BadInput, match=r"24 of them to train on: more than the 23 that the study declares"):
        load_site(csv(GOOD), make_study(largest_site=23), "a")
    assert len(load_site(csv(GOOD), make_study(largest_site=24), "a").train) == 24


@pytest.mark.parametrize("name", ["a.docx", "a.csv", "a.npz"])
def test_a_file_that_is_absent_or_of_another_kind(study: StudyFile, tmp_path: Path, name: str) -> None:
    with pytest.raises(SapeflError, match="There is no file" if name != "a.docx" else r"a table is a \.csv, \.tsv"):
        load_site(tmp_path / name, study, "a")


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_a_table_may_come_as_arrays(study: StudyFile, tmp_path: Path) -> None:
    X = np.array([["50", "f", "200"], ["60", "m", ""]])
    table = load_table(save(tmp_path / "a.npz", X=X, y=np.array([1, 0])), study.data)
    assert table.y.tolist() == [1, 0]
    assert np.array_equal(table.X, [[50, 0, 200], [60, 1, np.nan]], equal_nan=True)
    swapped = save(tmp_path / "b.npz", X=X[:, ::-1], y=np.array(["yes", "no"]), feature_names=["chol", "sex", "age"])
    assert np.array_equal(load_table(swapped, study.data).X, table.X, equal_nan=True)


def test_numbers_as_levels_are_found_in_float_arrays(tmp_path: Path) -> None:
    levels = {"name": "stage", "kind": "categorical", "levels": ["1", "2", "3"]}
    schema = read_schema({"label": "y", "classes": ["n", "p"], "features": [levels]})
    table = load_table(save(tmp_path / "a.npz", X=np.array([[3.0], [1.0]]), y=np.array([0, 1])), schema)
    assert table.X.tolist() == [[2], [0]]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((3, 2)), "y": np.zeros(3, int)}, "expected rows x 3 features"),
        ({"X": np.zeros((0, 3)), "y": np.zeros(0, int)}, "expected rows x 3 features"),
        ({"X": np.zeros((3, 3)), "y": np.array([0, 1, 2])}, "runs from 0 to 2"),
        ({"X": np.zeros((3, 3))}, "has no column 'disease'"),
        (
            {"X": np.array([["1", "f", "2"], ["x", "m", "3"]]), "y": np.array([0, 1])},
            r"row 1 \(counted from 0\)",
        ),
        ({"X": np.array([["1", "f", "2"]]), "y": np.array([0]), "feature_names": np.array(["a", "b", "c"])}, "'age'"),
        ({"y": np.zeros(3, int)}, "array 'X' is missing"),
    ],
)
def test_arrays_that_do_not_fit(study: StudyFile, tmp_path: Path, arrays: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        load_site(save(tmp_path / "a.npz", **arrays), study, "a")


def test_images_become_channels_first(make_study: MakeStudy, tmp_path: Path) -> None:
    X = np.zeros((12, 6, 5), np.uint8)
    client = load_site(save(tmp_path / "a.npz", X=X, y=np.arange(12) % 2), make_study(data=IMAGES), "b")
    assert client.train.X.shape[1:] == (1, 6, 5)
    assert client.train.X.min() == -1


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((9, 6, 6), np.uint8), "y": np.zeros(9, int)}, r"expected bytes \(uint8\) of shape \(n, 6, 5"),
        ({"X": np.zeros((9, 6, 5)), "y": np.zeros(9, int)}, "expected bytes"),
        ({"X": np.zeros((9, 6, 5, 3), np.uint8), "y": np.zeros(9, int)}, "expected bytes"),
        ({"X": np.zeros((9, 6, 5), np.uint8), "y": np.full(9, 2)}, "runs from 2 to 2"),
        ({"X": np.zeros((9, 6, 5), np.uint8), "y": np.zeros(9, int), "class_names": np.array(["x", "y"])}, "cat, dog"),
    ],
)
def test_images_that_do_not_fit(make_study: MakeStudy, tmp_path: Path, arrays: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        load_site(save(tmp_path / "a.npz", **arrays), make_study(data=IMAGES), "a")


def test_images_do_not_come_as_text(make_study: MakeStudy, csv: Callable[[str], Path]) -> None:
    with pytest.raises(BadInput, match=r"images come in an \.npz"):
        load_site(csv(GOOD), make_study(data=IMAGES), "a")


@pytest.mark.parametrize("data", [None, IMAGES, "site"], ids=["table", "images", "scaled by the site"])
def test_mock_records_fit_their_schema_and_hold_every_class(make_study: MakeStudy, tmp_path: Path, data: Any) -> None:
    plain = {"label": "y", "classes": ["n", "p"], "features": [{"name": "x"}, {"name": "z"}], "scaling": "site"}
    study = make_study() if data is None else make_study(data=plain if data == "site" else data)
    path = tmp_path / ("m.npz" if data == IMAGES else "m.csv")
    path.write_bytes(mock_file(study.data, rows=60, seed=1, place=2))
    client = load_site(path, study, "c")
    assert set(client.train.y.tolist()) == {0, 1}
    assert np.isfinite(client.train.X).all()


def test_mock_records_depend_on_seed_and_place_alone(study: StudyFile) -> None:
    made = [mock_file(study.data, rows=20, seed=s, place=p) for s, p in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert made[0] == made[1]
    assert len(set(made)) == 3
    assert b",," in b"".join(made)  # a column that may be missing sometimes is


def test_mock_records_can_be_learnt(study: StudyFile, tmp_path: Path) -> None:
    """The rule is the same at every site: a linear fit at one is better than chance at another."""
    tables = []
    for place in (0, 1):
        path = tmp_path / f"{place}.csv"
        path.write_bytes(mock_file(study.data, rows=400, seed=4, place=place))
        table = load_table(path, study.data)
        tables.append((preparation(study.data)(table.X, table.X)[0], table.y))
    (X, y), (other_X, other_y) = tables
    add_one = [np.c_[rows, np.ones(len(rows))] for rows in (X, other_X)]
    weights = np.linalg.lstsq(add_one[0], 2.0 * y - 1, rcond=None)[0]
    assert np.mean((add_one[1] @ weights > 0) == other_y) > 0.75
