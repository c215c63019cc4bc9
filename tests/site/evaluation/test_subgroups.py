"""Groups an owner names: levels, cuts, gaps, columns that are not there, and too many."""

from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data.tables.features import Numeric
from secure_sapefl.data.tables.schema import ImageSchema, TableSchema
from secure_sapefl.errors import BadInput
from secure_sapefl.site.evaluation.subgroups import subgroups

SCHEMA = TableSchema(label="y", classes=("no", "yes"), features=(Numeric(name="age", low=0, high=120),))
TABLE = "age;sex;y\n64,5;f;no\n65;m;yes\n;f;no\n80;;yes\n20;x;no\n"
TEST = np.array([0, 1, 2, 3])  # the last record is no test record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text(TABLE)
    return path


def named(path: Path, *judge_by: str) -> dict[str, list[bool]]:
    return {one.name: one.member.tolist() for one in subgroups(path, SCHEMA, judge_by, TEST)[0]}


def test_levels_and_those_without_one(path: Path) -> None:
    assert named(path, "sex") == {
        "sex: f": [True, False, True, False],
        "sex: m": [False, True, False, False],
        "sex: missing": [False, False, False, True],
    }


def test_a_cut_and_those_without_a_number(path: Path) -> None:
    found = named(path, "age < 65")
    assert found["age < 65"] == [True, False, False, False]
    assert found["age ≥ 65"] == [False, True, False, True]
    assert found["age missing, asked for < 65"] == [False, False, True, False]


def test_a_column_of_another_study_is_said_and_not_missed(path: Path) -> None:
    found, absent = subgroups(path, SCHEMA, ("weight", "sex"), TEST)
    assert len(found) == 3
    assert absent == ("weight",)
    assert subgroups(path, ImageSchema(height=4, width=4, channels=1, classes=("a", "b")), ("sex",), TEST) == (
        (),
        ("sex",),
    )


def test_too_many_groups_are_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("age,y\n" + "".join(f"{k},no\n" for k in range(30)))
    with pytest.raises(BadInput, match=r'makes 30 groups.*"age < 65"'):
        subgroups(path, SCHEMA, ("age",), np.arange(30))
