"""Table 1 against numbers computed from the rows themselves, and what is left out of it."""

import json

import numpy as np
import pytest

from secure_sapefl.data.tables.columns import Columns
from secure_sapefl.data.tables.propose import propose, with_ranges
from secure_sapefl.data.tables.table_one import TableOne, table_one
from secure_sapefl.data.tables.tally import by_class
from secure_sapefl.data.tables.values import table_of

N = 2000


@pytest.fixture
def made() -> tuple[TableOne, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    age, ill = rng.normal(60, 10, N).clip(20, 99), rng.random(N) < 0.3
    sex = np.where(np.arange(N) < 3, "d", np.where(rng.random(N) < 0.5, "f", "m"))
    day = np.datetime64("2015-01-01") + rng.integers(0, 365, N)
    cells = {
        "age": [f"{value:.4f}" if k % 10 else "" for k, value in enumerate(age)],
        "sex": sex.tolist(),
        "seen": [str(one) for one in day],
        "ill": np.where(ill, "yes", "no").tolist(),
    }
    columns = Columns(source="t", unit="line", cells=cells)
    schema = with_ranges(propose(columns, label="ill"), columns)
    table = table_of(columns, schema)
    totals = by_class(schema).counted(table.X, table.y)
    return table_one(totals, schema), {"age": age[np.arange(N) % 10 != 0], "ill": ill}


def line(table: TableOne, column: str, says: str) -> tuple[object, ...]:
    return next(one.values for one in table.lines if (one.column, one.says) == (column, says))


def test_numbers_agree_with_the_rows(made: tuple[TableOne, dict[str, np.ndarray]]) -> None:
    table, truth = made
    age = truth["age"]
    assert table.groups == ("all", "no", "yes")
    assert line(table, "records", "n") == (N, int((~truth["ill"]).sum()), int(truth["ill"].sum()))
    assert line(table, "age", "missing")[0] == N // 10
    assert line(table, "age", "mean")[0] == pytest.approx(age.mean(), abs=0.01)
    assert line(table, "age", "sd")[0] == pytest.approx(age.std(), abs=0.01)
    for says, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75)):
        assert line(table, "age", says)[0] == pytest.approx(np.quantile(age, share), abs=0.7)
    assert str(line(table, "seen", "median")[0]).startswith("2015-0")


def test_small_cells_and_what_would_give_them_away_are_left_out(
    made: tuple[TableOne, dict[str, np.ndarray]],
) -> None:
    """Three of level d; with n known, one more level must go, or d would follow."""
    table, _ = made
    sexes = [line(table, "sex", level)[0] for level in ("d", "f", "m")]
    assert sexes[0] is None
    assert sexes.count(None) == 2
    shown = dict.fromkeys(table.shown())
    assert any(row[:3] == ("sex", "d", "–") for row in shown)


def test_csv_and_json_hold_the_same(made: tuple[TableOne, dict[str, np.ndarray]]) -> None:
    table, _ = made
    assert table.to_csv().splitlines()[0] == "column,says,all,no,yes"
    assert len(table.to_csv().splitlines()) == 1 + len(table.to_json()["lines"])


def test_a_table_is_read_back_and_strange_words_are_shown_plainly(made: tuple[TableOne, dict[str, np.ndarray]]) -> None:
    table, _ = made
    assert TableOne.from_json(json.loads(json.dumps(table.to_json()))) == table
    fields = {"groups": ["all"], "lines": [{"column": "\x1b[31m", "says": "n", "values": {"all": "\x07"}}]}
    (line_,) = TableOne.from_json(fields | {"smallest_cell": 5}).shown()
    assert not any("\x1b" in cell or "\x07" in cell for cell in line_)


def test_noised_the_number_of_records_is_that_of_the_column_with_the_fewest_cells() -> None:
    """A histogram of 64 noised bins says it worst."""
    columns = Columns(source="t", unit="line", cells={"x": ["1", "2", "4"], "b": ["no", "yes", "no"], "y": list("uvu")})
    schema = with_ranges(propose(columns, label="y"), columns)
    table = table_of(columns, schema)
    totals = by_class(schema).counted(table.X, table.y)
    totals[5] += 1000  # a bin of x, of class u
    assert line(table_one(totals, schema, 1, noised=True), "records", "n") == (3, 2, 1)


def test_what_is_known_of_a_few_does_not_follow_from_the_others() -> None:
    """Three of class v have a value: their mean is that of all less that of u, and their number n less the missing."""
    known = [str(k) for k in range(43)]
    columns = Columns(source="t", unit="line", cells={"x": [*known, *[""] * 30], "y": [*"u" * 40, *"v" * 33]})
    schema = with_ranges(propose(columns, label="y"), columns)
    table = table_of(columns, schema)
    found = table_one(by_class(schema).counted(table.X, table.y), schema)
    assert line(found, "records", "n") == (73, 40, 33)
    assert line(found, "x", "mean")[1:] == (None, None)
    assert line(found, "x", "mean")[0] == pytest.approx(21, abs=0.5)
    assert line(found, "x", "missing") == (None, 0, None)


def test_digits_do_not_tell_what_is_left_out() -> None:
    """Of 119 whole numbers some are missing: a mean of many digits is a whole number by one of the candidates alone."""
    ages = np.random.default_rng(0).integers(20, 90, 119)
    cells = {"age": [*map(str, ages[:-2]), "", "", *map(str, ages)], "y": [*"u" * 119, *"v" * 119]}
    columns = Columns(source="t", unit="line", cells=cells)
    schema = with_ranges(propose(columns, label="y"), columns)
    table = table_of(columns, schema)
    found = table_one(by_class(schema).counted(table.X, table.y), schema)
    assert line(found, "age", "missing")[1] is None
    mean = line(found, "age", "mean")[1]
    assert isinstance(mean, float)

    def possible(shown: float, digits: float) -> list[int]:
        """How many may be missing: a whole sum, divided by the others, has these digits."""
        sums = {k: round(shown * (119 - k)) / (119 - k) for k in (1, 2, 3, 4)}
        return [k for k, near in sums.items() if abs(near - shown) <= digits]

    assert possible(float(ages[:-2].mean()), 1e-6) == [2]
    assert possible(mean, 0.5) == [1, 2, 3, 4]
    assert mean == pytest.approx(ages[:-2].mean(), abs=1)
    for says in ("q1", "median", "q3"):
        assert all(isinstance(value, float) and value == round(value) for value in line(found, "age", says))
