"""One preparation from totals: what the rows in one place would give, whoever holds which."""

import numpy as np
import pytest

from secure_sapefl.config import Agreed
from secure_sapefl.data.prepare import LearnedScale, described, learns_from_rows, recipe_of
from secure_sapefl.data.tables.common import agreed, common_preparation
from secure_sapefl.data.tables.features import Categorical, Feature, Numeric
from secure_sapefl.data.tables.tally import CountPlan
from secure_sapefl.errors import BadInput

FEATURES: tuple[Feature, ...] = (
    Numeric(name="age", low=0, high=128, may_be_missing=True),
    Categorical(name="sex", levels=("f", "m", "d"), may_be_missing=True),
    Numeric(name="never", low=0, high=1, may_be_missing=True),
    Numeric(name="always", low=0, high=10),
)
PLAN = CountPlan(FEATURES)


def rows(seed: int, count: int = 400) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(count) < 0.2, np.nan, rng.normal(60 + 5 * seed, 12, count).clip(0, 128))
    sex = np.where(rng.random(count) < 0.1, np.nan, rng.integers(0, 2, count))
    return np.stack([age, sex, np.full(count, np.nan), np.full(count, 3.0)], axis=1)


def totals(*tables: np.ndarray) -> np.ndarray:
    return np.sum([PLAN.counted(one) for one in tables], axis=0)


def test_it_is_the_scale_of_all_rows_together() -> None:
    found = agreed(totals(rows(0), rows(1)), PLAN, sites=2)
    whole = LearnedScale.from_rows(np.concatenate([rows(0), rows(1)])[:, [0]])
    fill, mean, deviation = found.numbers["age"]
    assert fill == pytest.approx(whole.middle[0], abs=1)  # half a bin of 2 years
    assert mean == pytest.approx(whole.mean[0], abs=0.2)
    assert deviation == pytest.approx(whole.deviation[0], abs=0.1)


def test_levels_that_nobody_has_and_columns_that_nobody_recorded() -> None:
    found = agreed(totals(rows(0), rows(1)), PLAN, sites=2)
    assert found.levels == {"sex": ("f", "m")}
    prepare = common_preparation(FEATURES, found)
    new = np.array([[60.0, 2.0, 0.5, 3.0], [np.nan, 1.0, np.nan, 4.0]])
    _, (other, missing) = prepare(new[:0], new)
    assert other[3:].tolist() == [0, 0, 0]  # a level that nobody had is no level
    assert missing[3:].tolist() == [0, 1, 0]
    assert other[1] == 0  # never recorded anywhere
    assert (other[2], missing[2]) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))  # constant: centred only
    fill, mean, deviation = found.numbers["age"]
    assert missing[0] == pytest.approx((fill - mean) / deviation, abs=1e-5)
    assert recipe_of(prepare, new)["categories"] == {"sex": ["f", "m", None]}


def test_the_column_is_centred_and_of_deviation_one() -> None:
    prepare = common_preparation(FEATURES, agreed(totals(rows(0), rows(1)), PLAN, sites=2))
    prepared = np.concatenate([prepare(rows(k), rows(k))[0][:, 0] for k in (0, 1)])
    assert prepared.mean() == pytest.approx(0, abs=1e-3)
    assert prepared.std() == pytest.approx(1, abs=1e-3)


def test_noised_totals_are_read_off_histograms() -> None:
    mask, exact = PLAN.of_records, totals(rows(0, 4000), rows(1, 4000))
    found = agreed(np.where(mask, exact - 3, 0), PLAN, sites=2, noised=True)
    plain = agreed(exact, PLAN, sites=2)
    assert found.numbers["age"] == pytest.approx(plain.numbers["age"], rel=0.05)
    prepare = common_preparation(FEATURES, found)
    assert not learns_from_rows(prepare)
    assert "noised sums over 2" in described(prepare)


def test_what_was_agreed_for_another_table_is_refused() -> None:
    found = agreed(totals(rows(0), rows(1)), PLAN, sites=2)
    with pytest.raises(BadInput, match="other columns"):
        common_preparation(FEATURES[:2], found)
    with pytest.raises(BadInput, match="other columns"):
        common_preparation(FEATURES, Agreed(numbers=found.numbers, levels={"sex": ("x",)}, sites=2))
