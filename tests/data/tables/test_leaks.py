"""Columns that tell the label by themselves, and those that only help."""

from dataclasses import replace

import numpy as np

from secure_sapefl.data.tables.examined import Examined
from secure_sapefl.data.tables.leaks import follows, leaks

N = 400
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.4).astype(np.int64)


def table(values: np.ndarray, y: np.ndarray = Y) -> Examined:
    return Examined(
        X=values[:, None].astype(float), names=("code",), levels=((),), y=y, classes=("a", "b", "c"), label="ill"
    )


def said(values: np.ndarray, y: np.ndarray = Y) -> str:
    """What is said of the one column, or nothing."""
    found = list(leaks(table(values, y)))
    assert all(one.dangerous and one.name == "label:code" for one in found)
    return " ".join(one.says for one in found)


def test_the_label_again_exactly_nearly_or_as_a_number() -> None:
    assert said(1 - Y).startswith("equal to the label 'ill'")
    nearly = Y.copy()
    nearly[3] = 1 - nearly[3]
    assert said(nearly).startswith("nearly equal")
    assert said(Y + RNG.uniform(0, 0.5, N))
    assert not said(Y + RNG.normal(0, 1, N))


def test_the_label_again_whose_classes_are_spelt_in_several_ways() -> None:
    spelt = np.where((Y == 1) & (np.arange(N) % 3 == 0), 2, Y)
    assert not said(Y, spelt)
    (found,) = leaks(replace(table(Y, spelt), classes=("no", "yes", "YES")))
    assert found.says.startswith("equal to the label 'ill'")


def test_a_seldom_outcome_again() -> None:
    rare = (np.arange(N) % 50 == 0).astype(np.int64)  # 2 % are ill
    assert said(rare, rare)
    assert said(rare + RNG.uniform(0, 0.5, N), rare)
    assert not said(np.zeros(N), rare)
    assert not said((np.arange(N) % 50 == 1).astype(float), rare)
    assert not said(RNG.normal(size=N), rare)


def test_more_than_two_classes_again() -> None:
    three = np.arange(N) % 3
    score = three * 10 + RNG.uniform(0, 5, N)
    assert said(score, three)
    score[:20] = RNG.uniform(0, 25, 20)
    assert not said(score, three)
    assert not said(np.arange(N) // 3 % 40, three)  # forty values, each with all classes


def test_what_is_recorded_of_the_ill_alone() -> None:
    stay = np.where(Y == 1, RNG.integers(1, 30, N), np.nan)
    assert said(stay).startswith("whether it is recorded tells the label 'ill' of 100.0%")
    assert not said(np.where(RNG.random(N) < 0.5, RNG.integers(1, 30, N), np.nan))


def test_a_column_in_the_order_of_a_number_is_told() -> None:
    target = np.linspace(0, 1, 60)
    table = Examined(
        X=np.stack([target**3, np.random.default_rng(0).normal(size=60)], axis=1),
        names=("twin", "other"), levels=((), ()), y=np.zeros(60, np.int64), classes=("tenth 1",), label="stay",
        target=target,
    )  # fmt: skip
    found = list(follows(table))
    assert [(one.column, one.dangerous) for one in found] == [("twin", True)]
