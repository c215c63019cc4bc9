"""Intervals of an AUC over patients: known answers by hand, and what pairing and repetition must do."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.metrics import macro_auc
from secure_sapefl.report.auc_interval import Ranked, auc_gain, auc_interval, same_rows


def judged(score: list[float], positive: list[int], patient: list[int] | None = None) -> Ranked:
    numbers = list(range(len(score))) if patient is None else patient
    return Ranked(patient=np.array(numbers), positive=np.array(positive, dtype=bool), score=np.array(score))


def noisy(rows: int, seed: int) -> Ranked:
    rng = np.random.default_rng(seed)
    positive = np.arange(rows) % 2 == 0
    return Ranked(patient=np.arange(rows), positive=positive, score=rng.normal(size=rows) + positive)


def test_by_hand() -> None:
    found = auc_interval([judged([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0])])
    assert found.value == 0.75  # of four pairs one is the wrong way round
    assert 0 <= found.low < 0.75 < found.high == 1


def test_a_tie_counts_half() -> None:
    assert auc_interval([judged([0.5, 0.5], [1, 0])]).value == 0.5


def test_a_perfect_model_has_no_spread() -> None:
    found = auc_interval([judged([0.9, 0.8, 0.1], [1, 1, 0])])
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_one_outcome_alone_has_no_auc() -> None:
    found = auc_interval([judged([0.9, 0.8], [1, 1])])
    assert np.isnan([found.value, found.low, found.high]).all()


def test_a_set_without_both_outcomes_is_left_out_of_the_mean() -> None:
    assert auc_interval([judged([0.9, 0.1], [1, 0]), judged([0.2], [1], [5])]).value == 1


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.booleans()), min_size=2, max_size=12))
def test_the_value_is_the_metric(rows: list[tuple[float, bool]]) -> None:
    score, positive = np.array([s for s, _ in rows]), np.array([p for _, p in rows])
    mine = auc_interval([Ranked(patient=np.arange(len(rows)), positive=positive, score=score)]).value
    theirs = macro_auc(np.stack([1 - score, score], axis=1), positive.astype(np.int64))
    assert mine == pytest.approx(theirs, nan_ok=True)


def test_a_patient_tested_twice_is_one_patient() -> None:
    """The same tests given five times say no more than once; taken for others, they would narrow the interval."""
    once = noisy(30, seed=1)
    again = [once] * 5
    assert astuple(auc_interval(again)) == pytest.approx(astuple(auc_interval([once])))
    apart = [Ranked(patient=once.patient + 100 * i, positive=once.positive, score=once.score) for i in range(5)]
    width = auc_interval(again).high - auc_interval(again).low
    assert auc_interval(apart).high - auc_interval(apart).low < 0.7 * width


def test_more_patients_narrow_it() -> None:
    few, many = auc_interval([noisy(20, seed=2)]), auc_interval([noisy(500, seed=2)])
    assert many.high - many.low < 0.4 * (few.high - few.low)


def test_a_model_gains_nothing_over_itself() -> None:
    one = [noisy(30, seed=3)]
    gain = auc_gain(one, one)
    assert (gain.value, gain.low, gain.high) == (0, 0, 0)
    assert gain.low <= 0 <= gain.high


def test_a_clear_gain_and_its_reverse() -> None:
    good = noisy(60, seed=4)
    better = Ranked(patient=good.patient, positive=good.positive, score=good.score + 2 * good.positive)
    assert auc_gain([better], [good]).low > 0
    assert auc_gain([good], [better]).high < 0


def test_equal_rows_get_equal_numbers() -> None:
    first, second = np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([[3, 4], [1, 0]], dtype=np.float32)
    a, b = same_rows([first, second])
    assert a[1] == b[0]
    assert len({*a, *b}) == 3
