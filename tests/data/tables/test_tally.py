"""What a site counts: by hand, and one record at a time."""

import numpy as np
import pytest

from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.table import Table
from secure_sapefl.data.tables.schema import TableSchema, read_schema
from secure_sapefl.data.tables.tally import BINS, STEPS, CountPlan, Counts, by_class, together
from secure_sapefl.errors import BadInput

AGE = {"name": "age", "low": 0, "high": 64, "may_be_missing": True}


def schema(**age: object) -> TableSchema:
    features = [{**AGE, **age}, {"name": "sex", "kind": "categorical", "levels": ["f", "m"], "may_be_missing": True}]
    found = read_schema({"label": "y", "classes": ["no", "yes"], "features": features, "scaling": "site"})
    assert isinstance(found, TableSchema)
    return found


def table(rows: list[list[float]], y: list[int]) -> Table:
    return Table(X=np.array(rows), y=np.array(y), class_names=("no", "yes"), source="t", prepare=as_given)


NAN = float("nan")
MADE = table([[0.5, 0], [63.9, 1], [64, 1], [NAN, 0], [99, NAN]], [0, 0, 1, 1, 1])
EVERYBODY = np.ones(5, bool)
COUNTS = by_class(schema()).of_records


def counted(made: Table, described: TableSchema, rows: np.ndarray) -> Counts:
    return by_class(described).counted(made.X[rows], made.y[rows])


def test_counts_by_hand() -> None:
    (no_age, no_sex), (yes_age, yes_sex) = by_class(schema()).read(counted(MADE, schema(), EVERYBODY))
    assert no_age.cells.nonzero()[0].tolist() == [0, 63]
    assert (no_age.missing, no_age.places) == (0, round(0.5 / 64 * STEPS) + round(63.9 / 64 * STEPS))
    assert (yes_age.missing, yes_age.present, int(yes_age.cells[-1])) == (1, 2, 2)
    assert (yes_age.places, yes_age.squares) == (2 * STEPS, 2 * STEPS**2)
    assert no_sex.cells.tolist() == [1, 1]
    assert (yes_sex.missing, yes_sex.cells.tolist()) == (1, [1, 1])
    assert together((no_sex, yes_sex)).cells.tolist() == [2, 2]


def test_a_record_adds_one_at_one_place_a_column() -> None:
    """So a noise for sqrt(columns) covers it."""
    whole = counted(MADE, schema(), EVERYBODY)
    assert len(whole) == by_class(schema()).entries == 2 * (1 + 2 + BINS + 3)
    for record in range(5):
        less = counted(MADE, schema(), np.arange(5) != record)
        assert (whole - less)[COUNTS].tolist().count(1) == 2
        assert (whole - less)[COUNTS].sum() == 2


def test_without_a_public_range_nothing_is_counted() -> None:
    with pytest.raises(BadInput, match="Column 'age' has no range"):
        counted(MADE, schema(low=None, high=None), EVERYBODY)


def test_whatever_the_class() -> None:
    plan = CountPlan(schema().features)
    ((age, sex),) = plan.read(plan.counted(MADE.X))
    assert (age.missing, age.present, sex.missing, sex.cells.tolist()) == (1, 4, 1, [2, 2])
    assert plan.entries == 1 + 2 + BINS + 3


def test_moments_and_quantiles_are_those_of_the_values() -> None:
    values = np.random.default_rng(0).uniform(0, 64, 5000)
    plan = CountPlan(schema().features[:1])
    ((age,),) = plan.read(plan.counted(values[:, None]))
    for noised, within in ((False, 1e-4), (True, 2e-2)):
        mean, spread = age.moments(noised=noised)
        assert mean == pytest.approx(values.mean() / 64, abs=within)
        assert spread == pytest.approx(values.std() / 64, abs=within)
    assert age.quantile(0.25) == pytest.approx(np.quantile(values, 0.25) / 64, abs=1 / BINS)
