"""From cells to numbers."""

import numpy as np
import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.features import Boolean, Date
from secure_sapefl.data.tables.propose import propose
from secure_sapefl.data.tables.schema import read_schema
from secure_sapefl.data.tables.values import persons_of, table_of, value_of
from secure_sapefl.errors import BadInput


def test_a_hospital_table_as_numbers(mixed: Columns) -> None:
    table = table_of(mixed, propose(mixed, label="krank", site="Klinik", person="Patient"))
    assert table.X.shape == (60, 5)
    assert np.isnan(table.X[4, 1])
    assert set(table.X[:, 2].tolist()) == {0.0, 1.0, 2.0}
    assert table.group_names == ("Köln", "München", "Århus", "Łódź")
    assert table.segment is not None
    assert len(set(table.segment.tolist())) == 30


def test_days_from_the_reference_and_spellings_of_yes() -> None:
    day = Date(name="d", reference="2020-01-01", format="%d.%m.%Y")
    assert value_of(day, "03.02.2020") == 33
    assert value_of(day, "31.12.2019") == -1
    assert [value_of(Boolean(name="b"), cell) for cell in ("Ja", "nein", "TRUE", "0")] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("cell", "why"),
    [("2020-01-01", "not a date written as"), ("01.01.1999", "outside the study's range 2000-01-01 to")],
)
def test_days_that_do_not_fit(cell: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        value_of(Date(name="d", low="2000-01-01", high="2030-01-01", format="%d.%m.%Y"), cell)


def test_a_persons_number_follows_from_the_name_alone(mixed: Columns) -> None:
    schema = propose(mixed, label="krank", person="Patient")
    whole, some = persons_of(mixed, schema), persons_of(_without_the_first(mixed), schema)
    assert whole is not None
    assert some is not None
    assert whole[1:].tolist() == some.tolist()


def test_a_record_that_belongs_to_nobody_is_named(mixed: Columns) -> None:
    schema = propose(mixed, label="krank", person="Patient")
    mixed.cells["Patient"] = ["", *mixed.cells["Patient"][1:]]
    with pytest.raises(BadInput, match="column 'Patient', line 2: the value is missing"):
        table_of(mixed, schema)


def test_what_is_not_a_boolean_is_said() -> None:
    schema = read_schema({"label": "y", "classes": ["a", "b"], "features": [{"name": "b", "kind": "boolean"}]})
    columns = Columns(source="t.csv", unit="line", cells={"b": ["perhaps"], "y": ["a"]})
    with pytest.raises(BadInput, match="column 'b', line 2: neither yes nor no"):
        table_of(columns, schema)


def _without_the_first(columns: Columns) -> Columns:
    return Columns(source="", unit="line", cells={name: cells[1:] for name, cells in columns.cells.items()})
