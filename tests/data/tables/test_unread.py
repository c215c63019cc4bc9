"""Columns that are left unread are named, with the reason."""

import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.propose import propose
from secure_sapefl.data.tables.unread import unread

N = 120
NUMBERS = [f"{k / 7:.3f}" for k in range(N)]


def found(cells: list[str]) -> dict[str, str]:
    columns = Columns(
        source="patients.csv", unit="line",
        cells={"age": NUMBERS, "it": cells, "ill": ["yes", "no"] * (N // 2)},
    )  # fmt: skip
    return {one.name: one.says for one in unread(columns, propose(columns, label="ill"))}


def test_one_text_and_none() -> None:
    assert "same value" in found(["ward"] * N)["constant:it"]
    assert found(["", "NA"] * (N // 2)) == {"constant:it": "never recorded"}


@pytest.mark.parametrize(
    ("cells", "wrong", "line"),
    [
        ([*NUMBERS[:-2], "<0.3", "n.d."], 2, N),
        ([f"{k:,}.5" for k in range(5000, 5000 + N)], N, 2),
        ([f"{k / 7:.2f} %" for k in range(N)], N, 2),
    ],
)
def test_numbers_that_are_not_written_as_such(cells: list[str], wrong: int, line: int) -> None:
    says = found(cells)["mixed:it"]
    assert f"{wrong} of {N} values are not written as one (the first in line {line})" in says


DAYS = [f"2021-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(N)]


@pytest.mark.parametrize(
    ("cells", "way", "wrong", "line"),
    [
        ([*DAYS[:-2], "3.4.2021", "5.4.2021 14:30"], "%Y-%m-%d", 2, N),
        (["31.02.2020", *(f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in DAYS[1:])], "%d.%m.%Y", 1, 2),
    ],
)
def test_dates_that_are_not_all_written_in_one_way(cells: list[str], way: str, wrong: int, line: int) -> None:
    says = found(cells)["mixed:it"]
    assert f"{wrong} of {N} are not written as {way} or do not exist (the first in line {line})" in says
    assert found(DAYS) == {}


def test_names_and_codes_are_identifiers() -> None:
    for written in ("Name {}", "P-{:04d}", "12.34.{}.x"):
        assert list(found([written.format(k) for k in range(N)])) == ["identifier:it"]


def test_what_is_read_is_not_named() -> None:
    assert found(["f", "m"] * (N // 2)) == {}
