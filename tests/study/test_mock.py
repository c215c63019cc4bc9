"""Mock records fit the schema they were made from, differ by site, and hold a rule that can be learned."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.schema import ImageSchema, TableSchema, read_schema
from secure_sapefl.data.tables.values import table_of
from secure_sapefl.errors import OutputFailed
from secure_sapefl.study.mock import mock_file, write_mock

TABLE = {
    "label": "sick",
    "classes": ["no", "yes"],
    "features": [
        {"name": "age", "low": 0, "high": 120},
        {"name": "sex", "kind": "categorical", "levels": ["f", "m"]},
        {"name": "chol", "low": 0, "high": 600, "may_be_missing": True},
    ],
}


@pytest.fixture
def schema() -> TableSchema:
    found = read_schema(TABLE)
    assert isinstance(found, TableSchema)
    return found


def records(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_every_record_fits_the_schema(schema: TableSchema) -> None:
    found = records(mock_file(schema, rows=200, seed=0, place=0))
    assert len(found) == 200
    assert list(found[0]) == ["age", "sex", "chol", "sick"]
    assert all(0 <= float(one["age"]) <= 120 for one in found)
    assert {one["sex"] for one in found} == {"f", "m"}
    assert {one["sick"] for one in found} == {"no", "yes"}
    missing = sum(one["chol"] == "" for one in found)
    assert 5 < missing < 45  # a tenth of 200


def test_the_same_seed_gives_the_same_file_and_another_place_another(schema: TableSchema) -> None:
    assert mock_file(schema, 20, 0, 0) == mock_file(schema, 20, 0, 0)
    assert mock_file(schema, 20, 0, 0) != mock_file(schema, 20, 0, 1)
    assert mock_file(schema, 20, 0, 0) != mock_file(schema, 20, 1, 0)


def test_the_rule_is_the_same_at_every_site(schema: TableSchema) -> None:
    """Whoever is much older than the others of its sex is of the class that age speaks for, wherever it is."""

    def slope(place: int) -> float:
        found = records(mock_file(schema, 2000, 0, place))
        ages = np.array([float(one["age"]) for one in found])
        return float(np.corrcoef(ages, [one["sick"] == "yes" for one in found])[0, 1])

    assert abs(slope(0)) > 0.1
    assert np.sign(slope(0)) == np.sign(slope(1))


def test_images_are_arrays_with_class_names() -> None:
    schema = read_schema({"kind": "images", "classes": ["a", "b"], "height": 4, "width": 4, "channels": 1})
    assert isinstance(schema, ImageSchema)
    with np.load(io.BytesIO(mock_file(schema, 10, 0, 0))) as arrays:
        assert arrays["X"].shape == (10, 4, 4, 1)
        assert arrays["X"].dtype == np.uint8
        assert arrays["class_names"].tolist() == ["a", "b"]


def test_a_file_a_site_is_written_or_why_not(schema: TableSchema, tmp_path: Path) -> None:
    paths = write_mock(tmp_path / "mock", schema, ("a", "b"), rows=5, seed=0)
    assert [path.name for path in paths] == ["mock-a.csv", "mock-b.csv"]
    assert paths[1].read_bytes() == mock_file(schema, 5, 0, 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputFailed, match="cannot be written"):
        write_mock(tmp_path / "file", schema, ("a",), rows=5, seed=0)


@pytest.mark.parametrize(
    ("said", "header"),
    [
        ({"target": {"low": 0, "high": 60}}, ["age", "stay"]),
        ({"labels": ["cough", "fever"]}, ["age", "cough", "fever"]),
    ],
)
def test_labels_that_are_no_classes_fit_their_schema_too(said: dict[str, object], header: list[str]) -> None:
    schema = TableSchema.read({"label": "stay", "features": TABLE["features"][:1], **said}, "schema")
    content = mock_file(schema, rows=50, seed=0, place=0)
    found = records(content)
    assert list(found[0]) == header
    columns = Columns(source="mock", unit="line", cells={name: [one[name] for one in found] for name in header})
    table = table_of(columns, schema)
    assert table.y.shape == (50, len(header) - 1)
    assert len(np.unique(table.y)) > 1
