"""Schemas: what they promise about shape, and every way of not being one."""

import tomllib
from typing import Any

import pytest

from secure_sapefl.data.tables.features import Categorical, Numeric
from secure_sapefl.data.tables.schema import ImageSchema, TableSchema, read_schema, schema_text
from secure_sapefl.errors import BadInput

AGE = {"name": "age", "low": 0, "high": 120}
TABLE: dict[str, Any] = {"label": "y", "classes": ["no", "yes"], "features": [AGE]}


def test_a_category_takes_a_column_a_level() -> None:
    schema = read_schema(
        {**TABLE, "features": [AGE, {"name": "sex", "kind": "categorical", "levels": ["f", "m", "x"]}]}
    )
    assert isinstance(schema, TableSchema)
    assert [type(feature) for feature in schema.features] == [Numeric, Categorical]
    assert schema.shape == (4,)
    assert not schema.learns_from_rows


def test_images_have_channels_first() -> None:
    schema = read_schema({"kind": "images", "height": 28, "width": 20, "channels": 3, "classes": ["a", "b"]})
    assert isinstance(schema, ImageSchema)
    assert schema.shape == (3, 28, 20)


def test_scaling_by_the_sites_own_rows_needs_no_ranges_and_says_that_it_learns() -> None:
    schema = read_schema({**TABLE, "features": [{"name": "age"}], "scaling": "site"})
    assert schema.learns_from_rows


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "audio"}, "kind = 'audio' is not possible"),
        ({"classes": ["only"]}, "classes"),
        ({"classes": ["no", "no"]}, "The class 'no' appears twice"),
        ({"features": []}, "features"),
        ({"features": [AGE, AGE]}, "The column 'age' appears twice"),
        ({"features": [{**AGE, "name": "y"}]}, "The column 'y' appears twice"),
        ({"features": [{"name": "age"}]}, "needs the range of every numeric column; 'age' has none"),
        ({"features": [{"name": "age", "low": 0}]}, "feature 'age': 'age' has half a range"),
        ({"features": [{"name": "age", "low": 5, "high": 5}]}, "low must be below high"),
        ({"features": [{"name": "age", "low": 0, "high": float("inf")}]}, "feature 'age': high = inf"),
        ({"features": [{**AGE, "typical": 121}]}, "typical value 121 is not within a range"),
        ({"features": [{"name": "age", "typical": 1}], "scaling": "site"}, "typical value 1 is not within a range"),
        ({"features": [{**AGE, "kind": "text"}]}, "feature 'age': kind = 'text' is not possible"),
        ({"features": [{"name": "sex", "kind": "categorical", "levels": ["f"]}]}, "feature 'sex': levels"),
        ({"features": [{"name": "s", "kind": "categorical", "levels": ["f", "f"]}]}, "The level 'f' appears twice"),
        ({"features": [{**AGE, "lowest": 3}]}, "Did you mean 'low'"),
        ({"features": [{**AGE, "name": "a\x1b[31m"}]}, "printable"),
        ({"features": [{**AGE, "name": " age"}]}, "no spaces around"),
        ({"features": ["age"]}, "features"),
        ({"features": 3}, "features"),
        ({"scaling": "log"}, "scaling = 'log'"),
        ({"label": ""}, "label"),
    ],
)
def test_what_is_no_schema_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence.replace("[", r"\[")):
        read_schema({**TABLE, **change})


def test_a_schema_is_a_table_of_values() -> None:
    with pytest.raises(BadInput, match="The schema is a table"):
        read_schema("age,sex")


FEATURES = [{"name": "age"}]


def read(**said: object) -> TableSchema:
    return TableSchema.read({"label": "stay", "features": FEATURES, "scaling": "site", **said}, "schema")


def test_a_label_is_a_class_a_number_or_several_columns() -> None:
    number, labels = read(target={"low": 0, "high": 60}), read(labels=["cough", "fever"])
    assert (number.label_is.kind, number.label_columns, number.label_names) == ("number", ("stay",), ("stay",))
    assert number.label_is.scale is not None
    assert (labels.label_is.kind, labels.known) == ("yes-no", ("age", "cough", "fever"))
    assert load_text(schema_text(number)) == number


def load_text(text: str) -> object:
    return read_schema(tomllib.loads(text))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "'classes' is missing"),
        ({"classes": ["a", "b"], "target": {}}, "give one"),
        ({"target": {"low": 3}}, "half a range"),
        ({"target": {"low": 3, "high": 2}}, "low must be below high"),
        ({"labels": ["a", "b"], "target": {"low": 0, "high": 2}}, "several columns in labels"),
        ({"classes": ["a"]}, "at least 2 classes"),
    ],
)
def test_a_label_that_is_not_one_of_them(said: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(**said)
