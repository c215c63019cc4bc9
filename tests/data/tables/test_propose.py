"""What is proposed for a file's columns."""

from datetime import date

import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.features import Boolean, Categorical, Date, Numeric
from secure_sapefl.data.tables.propose import guessed_person, guessed_site, is_number, outwards, propose, with_ranges
from secure_sapefl.data.tables.values import value_of
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import LabelKind


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
    [
        (["", "?", "NA", ""], "ignored"),
        (["a", "a", "a", "a"], "ignored"),
        (["a", "b", "c", "d"], "identifiers"),
        (["see\nletter", "a", "see\nletter", "a"], "ignored"),
        (["w" * 101, "a", "w" * 101, "a"], "ignored"),
    ],
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
    [
        (18.2, 93.0, (18, 93)),
        (0.013, 0.9871, (0.01, 0.99)),
        (3, 3, (2, 4)),
        (-7, 1234, (-100, 1300)),
    ],
)
def test_ranges_are_rounded_outwards(low: float, high: float, expected: tuple[float, float]) -> None:
    assert outwards(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("low", [1e30, 1e15, -1e15, 2e37])
@pytest.mark.parametrize("width", [0.0, 3.0])
def test_no_range_is_empty_or_narrower_than_what_it_holds(low: float, width: float) -> None:
    """A step of 1 is none beside 1e30, and twelve digits are fewer than a case number of sixteen has."""
    found = outwards(low, low + width)
    assert found[0] <= low <= low + width <= found[1]
    assert found[0] < found[1]


def test_what_no_model_can_compute_with_is_no_number() -> None:
    assert [is_number(cell) for cell in ("1e30", "3.5e38", "-3.5e38", "1e400", "9" * 400)] == [True, *[False] * 4]


def test_no_digits_are_left_over() -> None:
    assert outwards(0, 1.01e30) == (0, 1.1e30)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["ja", "nein"], ("nein", "ja")),
        (["tak", "nie"], ("nie", "tak")),
        (["да", "нет"], ("нет", "да")),
        (["Yes", "no"], ("no", "Yes")),
        (["2", "1", "3"], ("1", "2", "3")),
        (["true", "1", "no"], ("1", "no", "true")),
        (["m", "f"], ("f", "m")),
    ],
)
def test_no_comes_before_yes_and_the_rest_by_name(cells: list[str], classes: tuple[str, ...]) -> None:
    columns = Columns(source="t", unit="line", cells={"x": [str(k) for k in range(len(cells))], "y": cells})
    assert propose(columns, label="y").classes == classes


@pytest.mark.parametrize(
    ("labels", "cell", "sentence"),
    [
        ("number", "", r"column 'y' has 1 missing values, the first in line 3\. .* remove those rows"),
        ("yes-no", "?", r"column 'y' has 1 missing values"),
        ("number", "long", r"column 'y', line 3: not a number, .* another --label"),
    ],
)
def test_a_label_that_cannot_be_learned_is_named(labels: LabelKind, cell: str, sentence: str) -> None:
    columns = Columns(source="t", unit="line", cells={"x": ["1", "2", "3"], "y": ["1", cell, "0"]})
    with pytest.raises(BadInput, match=sentence):
        propose(columns, label="y", labels=labels)


@pytest.mark.parametrize(
    "written", ["2020-01-02T03:04:05Z", "2020-01-02T03:04:05", "2020-01-02 03:04", "02.01.2020 03:04"]
)
def test_a_moment_is_a_date(written: str) -> None:
    cells = {"seen": [written, "", written], "y": ["no", "yes", "no"]}
    columns = Columns(source="t", unit="line", cells=cells)
    (seen,) = with_ranges(propose(columns, label="y"), columns).features
    assert isinstance(seen, Date)
    assert seen.low == date(2020, 1, 1)
    assert value_of(seen, written) == seen.days(date(2020, 1, 2))
