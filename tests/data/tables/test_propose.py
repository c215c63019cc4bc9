"""What is proposed for a file's columns."""

from datetime import date

import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.propose import guessed_person, guessed_site, outwards, propose, with_ranges
from secure_sapefl.data.tables.schema import Boolean, Categorical, Date, Numeric
from secure_sapefl.errors import BadInput


def test_every_kind_and_role_of_a_hospital_table(mixed: Columns) -> None:
    schema = with_ranges(propose(mixed, label="krank", site="Klinik", person="Patient"), mixed)
    kinds = {feature.name: type(feature) for feature in schema.features}
    assert kinds == {
        "Alter": Numeric,
        "Größe": Numeric,
        "Geschlecht": Categorical,
        "Raucher": Boolean,
        "Aufnahme": Date,
    }
    assert (schema.classes, schema.identifiers, schema.scaling) == (("nein", "ja"), ("Fall-Nr",), "range")
    by_name = {feature.name: feature for feature in schema.features}
    height, day = by_name["Größe"], by_name["Aufnahme"]
    assert isinstance(height, Numeric)
    assert height.may_be_missing
    assert height.low is not None
    assert 1.4 < height.low <= 1.55
    assert isinstance(day, Date)
    assert (day.format, day.low) == ("%d.%m.%Y", date(2010, 1, 1))


def test_roles_are_guessed_by_usual_names(mixed: Columns) -> None:
    assert guessed_site(mixed, ()) == "Klinik"
    assert guessed_person(mixed, ()) == "Patient"
    assert guessed_site(mixed, ("Klinik",)) is None


@pytest.mark.parametrize(
    ("cells", "role"),
    [(["", "?", "NA", ""], "ignored"), (["a", "a", "a", "a"], "ignored"), (["a", "b", "c", "d"], "identifiers")],
)
def test_what_teaches_nothing_is_left_out(cells: list[str], role: str) -> None:
    columns = Columns(
        source="t", unit="line", cells={"odd": cells, "x": ["1", "2", "3", "4"], "y": ["0", "1", "0", "1"]}
    )
    assert getattr(propose(columns, label="y"), role) == ("odd",)


def test_numbers_stay_numbers_even_where_they_are_codes() -> None:
    columns = Columns(source="t", unit="line", cells={"x": ["0", "1", "0", "1"], "y": ["a", "b", "a", "b"]})
    assert isinstance(propose(columns, label="y").features[0], Numeric)


def test_one_column_has_one_role(mixed: Columns) -> None:
    with pytest.raises(BadInput, match="cannot be two"):
        propose(mixed, label="krank", site="krank")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(18.2, 93.0, (18, 93)), (0.013, 0.9871, (0.01, 0.99)), (3, 3, (2, 4)), (-7, 1234, (-100, 1300))],
)
def test_ranges_are_rounded_outwards(low: float, high: float, expected: tuple[float, float]) -> None:
    assert outwards(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["ja", "nein"], ("nein", "ja")),
        (["Yes", "no"], ("no", "Yes")),
        (["2", "1", "3"], ("1", "2", "3")),
        (["true", "1", "no"], ("1", "no", "true")),
        (["m", "f"], ("f", "m")),
    ],
)
def test_no_comes_before_yes_and_the_rest_by_name(cells: list[str], classes: tuple[str, ...]) -> None:
    columns = Columns(source="t", unit="line", cells={"x": [str(k) for k in range(len(cells))], "y": cells})
    assert propose(columns, label="y").classes == classes
