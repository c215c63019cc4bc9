"""Every mismatch of a file, in sentences."""

from typing import Any

import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.mismatches import mismatches
from secure_sapefl.data.tables.schema import TableSchema, read_schema

VALUES: dict[str, Any] = {
    "label": "y",
    "classes": ["no", "yes"],
    "features": [
        {"name": "chol", "low": 100, "high": 600, "typical": 220},
        {"name": "sex", "kind": "categorical", "levels": ["f", "m"]},
    ],
    "site": "klinik",
    "ignored": ["note"],
}
GOOD = {"chol": ["200", "230"], "sex": ["f", "m"], "y": ["no", "yes"]}


def said(**changes: Any) -> list[str]:
    schema = read_schema(VALUES)
    assert isinstance(schema, TableSchema)
    cells = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return [one.sentence for one in mismatches(Columns(source="t.csv", unit="line", cells=cells), schema)]


def test_a_file_that_fits() -> None:
    assert said(note=["", "a"]) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sex": ["F", "M"]}, "Column 'sex': 2 values of 2, first in line 2: not one of the study's levels: f, m; they "
         "differ from the study's in capital letters only."),
        ({"sex": ["f", "x"]}, "Column 'sex': 1 value of 2, first in line 3: not one of the study's levels: f, m."),
        ({"chol": ["5.2", "6.1"]}, "Column 'chol': 2 values of 2, first in line 2: outside the study's range 100 to "
         "600; times 38.67 they would fit, as if in another unit (cholesterol in mmol/l for mg/dl)."),
        ({"y": ["no", "ja"]}, "Column 'y': 1 value, first in line 3: no class of the study; classes are no, yes."),
        ({"y": ["NO", "yes"]}, "Column 'y': 1 value, first in line 2: no class of the study; classes are no, yes; they "
         "differ from the study's in capital letters only."),
        ({"extra": ["1", "2"]}, "Column 'extra': not in the study's schema; remove it, or ask for it to be listed as "
         "ignored."),
        ({"chol": None, "Chol": ["1", "2"]}, "Column 'chol': the study needs it and the file has none; is it 'Chol' in "
         "this file? Rename it."),
        ({"klinik": ["a", "b"]}, "Column 'klinik': records of 2 sites; a site of a deployed study has its own."),
        ({"y": ["no", "no"]}, "Column 'y': no record of class 'yes'."),
    ],
)  # fmt: skip
def test_each_is_a_sentence_with_the_columns_name(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in said(**changes)


def test_within_a_wide_range_a_wrong_unit_shows_against_the_typical_value() -> None:
    values = {**VALUES, "features": [{"name": "chol", "low": 0, "high": 600, "typical": 220}, VALUES["features"][1]]}
    schema = read_schema(values)
    assert isinstance(schema, TableSchema)
    columns = Columns(source="t", unit="line", cells={**GOOD, "chol": ["5", "6"]})
    found = mismatches(columns, schema)
    assert [(one.column, one.blocks) for one in found] == [("chol", False)]
    assert "factor of about 40" in found[0].says


def test_no_sentence_repeats_a_value() -> None:
    assert not any("Miller" in one for one in said(sex=["Miller", "m"], chol=["Miller", "200"]))
