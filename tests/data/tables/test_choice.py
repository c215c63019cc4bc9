"""Which preparation a table gets: by name, by option, by schema, or by default."""

from pathlib import Path

import pytest

from secure_sapefl.data.prepare import PublicScale, standardise
from secure_sapefl.data.tables.choice import OPTIONS, Wish, prepared
from secure_sapefl.data.tables.features import Date, Feature, Numeric
from secure_sapefl.errors import BadInput, UnknownName
from tests.data.tables.test_tally import MADE

BARE: tuple[Feature, ...] = (Numeric(name="age"), Numeric(name="sex"))
RANGED: tuple[Feature, ...] = tuple(Numeric(name=one.name, low=0, high=100) for one in BARE)


def wish(preparation: object = None, *, private: bool = False, apart: bool = False, **options: str) -> Wish:
    return Wish(preparation=preparation, options=OPTIONS | options, private=private, apart=apart)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        (wish(), "common"),
        (wish(private=True), "public"),
        (wish(apart=True), "site"),
        (wish("common", private=True, apart=True), "common"),
        (wish("site"), "site"),
        (wish(standardise="none"), None),
        (wish(ranges="x.toml"), "public"),
    ],
)
def test_what_is_asked_for(asked: Wish, then: str | None) -> None:
    assert asked.resolved == then


def test_a_common_one_waits_for_the_sites(tmp_path: Path) -> None:
    table = prepared(MADE, RANGED, wish())
    assert table.common is not None
    assert table.common.features == RANGED
    assert prepared(MADE, RANGED, wish("site")).prepare is standardise
    assert isinstance(prepared(MADE, RANGED, wish("public")).prepare, PublicScale)


def test_a_simulation_reads_ranges_off_rows_and_a_private_one_does_not() -> None:
    table = prepared(MADE, BARE, wish())
    assert table.common is not None
    assert all(one.range is not None for one in table.common.features if isinstance(one, Numeric))
    with pytest.raises(BadInput, match="'age' has no range"):
        prepared(MADE, BARE, wish("common", private=True))
    with pytest.raises(BadInput, match="'age' has none"):
        prepared(MADE, BARE, wish("public"))


def test_days_get_a_range_too() -> None:
    table = prepared(MADE, (Date(name="day"), RANGED[1]), wish())
    assert table.common is not None
    day = table.common.features[0]
    assert isinstance(day, Date)
    assert day.range is not None
    assert (day.range.low, day.range.high) == (0, 99)


def test_two_ways_to_say_it_are_one_too_many() -> None:
    with pytest.raises(BadInput, match="leave out --preparation"):
        prepared(MADE, RANGED, wish("site", standardise="none"))
    with pytest.raises(BadInput, match="leave out `standardise`"):
        prepared(MADE, RANGED, wish(standardise="none", ranges="x"))
    with pytest.raises(UnknownName):
        prepared(MADE, RANGED, wish(standardise="site"))
