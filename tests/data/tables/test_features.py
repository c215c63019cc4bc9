"""Columns by themselves: their ranges, how many numbers a model gets of each, and every way of not being one."""

from datetime import date
from typing import Any

import pytest

from secure_sapefl.data.tables.features import Boolean, Categorical, Date, Numeric, read_feature
from secure_sapefl.errors import BadInput


def test_a_column_is_read_by_its_kind_and_a_number_where_it_names_none() -> None:
    assert isinstance(read_feature({"name": "age"}), Numeric)
    assert isinstance(read_feature({"name": "sex", "kind": "categorical", "levels": ["f", "m", "x"]}), Categorical)
    assert [read_feature({"name": "a", "kind": kind}).columns for kind in ("boolean", "date")] == [2, 1]


def test_what_is_missing_is_typical_or_the_middle_of_the_range() -> None:
    age = Numeric(name="age", low=0, high=120)
    assert age.range is not None
    assert age.range.typical == 60
    given = Numeric(name="age", low=0, high=120, typical=55).range
    assert given is not None
    assert given.typical == 55
    assert Numeric(name="age").range is None


def test_a_day_is_counted_from_its_reference() -> None:
    born = Date(name="born", low=date(2000, 1, 1), high=date(2000, 1, 11))
    assert born.days(date(2000, 1, 3)) == 2
    assert born.range is not None
    assert (born.range.low, born.range.high, born.range.typical) == (0, 10, 5)


def test_yes_and_no_are_a_column_each() -> None:
    assert Boolean(name="smokes").levels == ("no", "yes")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "age", "low": 0}, "feature 'age': 'age' has half a range"),
        ({"name": "age", "low": 5, "high": 5}, "low must be below high"),
        ({"name": "age", "low": 0, "high": 120, "typical": 121}, "typical value 121 is not within a range"),
        ({"name": "age", "kind": "text"}, "feature 'age': kind = 'text' is not possible"),
        ({"name": "s", "kind": "categorical", "levels": ["f", "f"]}, "The level 'f' appears twice"),
        ({"name": "d", "kind": "date", "low": date(2001, 1, 1), "high": date(2000, 1, 1)}, "low must be before high"),
        ({"name": " age"}, "no spaces around"),
    ],
)
def test_what_is_no_column_is_named(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        read_feature(values)
