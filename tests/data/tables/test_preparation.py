"""From a schema to a model's inputs."""

import numpy as np

from secure_sapefl.data.prepare import MixedColumns, PublicScale, described, learns_from_rows, pixels, standardise
from secure_sapefl.data.tables.preparation import mixed, preparation
from secure_sapefl.data.tables.schema import TableSchema, read_schema

FEATURES = [
    {"name": "sex", "kind": "categorical", "levels": ["f", "m", "d"]},
    {"name": "age", "low": 0, "high": 100},
    {"name": "smokes", "kind": "boolean", "may_be_missing": True},
    {"name": "day", "kind": "date", "low": "2000-01-01", "high": "2010-01-01"},
]


def schema(**changes: object) -> TableSchema:
    found = read_schema({"label": "y", "classes": ["a", "b"], "features": FEATURES, **changes})
    assert isinstance(found, TableSchema)
    return found


def test_numbers_and_days_first_then_levels_and_yes_or_no() -> None:
    rows = np.array([[2.0, 50.0, 1.0, 1826.5], [0.0, 50.0, np.nan, 1826.5]])
    found, _ = preparation(schema())(rows, rows[:0])
    assert found.tolist() == [[0, 0, 0, 0, 1, 0, 1], [0, 0, 1, 0, 0, 0, 0]]
    assert schema().shape == (7,)


def test_it_says_whether_it_learns() -> None:
    by_range, by_site = preparation(schema()), preparation(schema(scaling="site"))
    assert (learns_from_rows(by_range), learns_from_rows(by_site)) == (False, True)
    assert described(by_range) == "one scale for all sites, from public ranges; categories as columns of 0 and 1"
    assert preparation(read_schema({"kind": "images", "height": 4, "width": 4, "classes": ["a", "b"]})) is pixels


def test_a_scale_is_learned_from_numbers_alone() -> None:
    whole = mixed(schema(scaling="site").features, standardise)
    assert isinstance(whole, MixedColumns)
    train = np.array([[0.0, 10.0, 1.0, 5.0], [1.0, 30.0, 0.0, 5.0]])
    _, found = whole(train, np.array([[1.0, 20.0, 0.0, 5.0]]))
    assert found.tolist() == [[0, 0, 0, 1, 0, 1, 0]]
    assert isinstance(mixed(schema().features, PublicScale(())).scale, PublicScale)


def test_its_recipe_names_the_columns_of_the_file() -> None:
    found = mixed(schema().features, PublicScale(())).recipe(np.zeros((1, 4)))
    assert found["numbers"]["columns"] == ["age", "day"]
    assert found["categories"] == {"sex": ["f", "m", "d"], "smokes": ["no", "yes"]}
