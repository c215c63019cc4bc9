"""Text of typed values, and places as readers count them."""

from datetime import date, datetime

import numpy as np
import pandas
import pytest

from secure_sapefl.data.tables.columns import Columns, columns_of, is_missing, text_of
from secure_sapefl.errors import BadInput


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.1, "0.10000000000000001"),
        (7, "7"),
        (True, "true"),
        (None, ""),
        (float("nan"), ""),
        (np.datetime64("NaT"), ""),
        (datetime(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3, 4), "2020-01-02"),
        (date(2020, 1, 2), "2020-01-02"),
        (" Köln ", "Köln"),
        ("Ko\u0308ln", "Köln"),  # as a Mac writes it
        (pandas.NA, ""),
    ],
)
def test_values_as_a_csv_would_say_them(value: object, text: str) -> None:
    assert text_of(value) == text


def test_lines_are_counted_as_editors_do() -> None:
    columns = columns_of("t.csv", "line", ["a"], [["1"], ["2"]], "")
    assert str(columns.bad("a", 0, "odd")) == "t.csv: column 'a', line 2: odd."
    rows = Columns(source="t.npz", unit="row", cells={"a": ["1"]})
    assert "row 0 (counted from 0)" in str(rows.bad("a", 0, "odd"))
    assert (len(columns), len(Columns(source="", unit="row", cells={}))) == (2, 0)


def test_missing_words() -> None:
    assert all(map(is_missing, ["", "?", "NA", "NaN", "n/a", "NaT", "<NA>"]))
    assert not any(map(is_missing, ["0", "no", "-"]))


def test_what_is_wanted_and_what_is_known() -> None:
    columns = columns_of("t.csv", "line", ["a", "b"], [["1", "2"]], "")
    columns.require(["a"], ["a", "b"])
    with pytest.raises(BadInput, match="has no column 'c'"):
        columns.require(["c"], ["a", "b", "c"])
    with pytest.raises(BadInput, match="column 'b' is not in the study's schema"):
        columns.require(["a"], ["a"])
    with pytest.raises(BadInput, match="no rows below"):
        columns_of("t.csv", "line", ["a"], [], "")
