"""Records that stand twice, and records that are alike by chance."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.data.tables.copies import copies
from secure_sapefl.data.tables.examined import Examined

N = 300


def made(*columns: np.ndarray, y: np.ndarray, group: np.ndarray) -> Examined:
    count = len(columns)
    return Examined(
        X=np.stack(columns, 1).astype(float),
        names=tuple(f"x{k}" for k in range(count)),
        levels=((),) * count,
        y=y.astype(np.int64),
        classes=("no", "yes"),
        label="ill",
        group=group,
        group_names=("north", "south"),
    )


@pytest.fixture
def sound() -> Examined:
    rng = np.random.default_rng(0)
    columns = rng.normal(60, 10, N), rng.integers(0, 2, N), rng.integers(0, 5, N)
    return made(*columns, y=rng.random(N) < 0.4, group=np.arange(N) % 2)


@pytest.fixture
def coarse() -> Examined:
    """Scores and yes or no, which depend on each other: many people are alike."""
    rng = np.random.default_rng(3)
    illness = rng.normal(size=N)
    columns = [illness + 0.3 * rng.normal(size=N) for _ in range(8)]
    scores = [np.round(1.3 * column) for column in columns[:4]]
    return made(*scores, *(column > 0 for column in columns[4:]), y=illness > 0, group=rng.integers(0, 2, N))


def copied(table: Examined, pairs: list[tuple[int, int]]) -> Examined:
    X, y = table.X.copy(), table.y.copy()
    for copy, original in pairs:
        X[copy], y[copy] = X[original], y[original]
    return replace(table, X=X, y=y)


def named(table: Examined) -> dict[str, bool]:
    return {one.name: one.dangerous for one in copies(table)}


def test_a_file_that_was_pasted_twice(sound: Examined) -> None:
    assert sound.group is not None
    assert named(sound) == {}
    twice = replace(sound, X=np.tile(sound.X, (2, 1)), y=np.tile(sound.y, 2), group=np.tile(sound.group, 2))
    assert named(twice) == {"duplicates:ill": False}
    assert named(replace(twice, group=np.repeat([0, 1], N))) == {"shared:site": True}


def test_copies_within_a_site_and_between_sites(sound: Examined) -> None:
    pairs = [(2, 0), (5, 0), (7, 0), (9, 4)]
    found = {one.name: one for one in copies(copied(sound, pairs))}
    assert set(found) == {"duplicates:ill", "shared:site"}
    assert not found["shared:site"].dangerous
    assert "2 records stand at several sites" in found["shared:site"].says
    assert named(copied(sound, [*pairs, (11, 6)]))["shared:site"]


def test_few_values_make_twins_no_surprise(sound: Examined) -> None:
    assert named(replace(sound, X=sound.X[:, 1:], names=sound.names[1:], levels=sound.levels[1:])) == {}


def test_columns_that_depend_on_each_other_make_more_twins(coarse: Examined) -> None:
    assert len(np.unique(np.column_stack([coarse.X, coarse.y]), axis=0)) < N - 50
    assert named(coarse) == {}


def test_where_chance_makes_no_neighbours_copies_are_seen(coarse: Examined) -> None:
    """One column that was measured tells people apart."""
    rng = np.random.default_rng(1)
    measured = replace(
        coarse,
        X=np.column_stack([coarse.X, rng.normal(size=N)]),
        names=(*coarse.names, "weight"),
        levels=(*coarse.levels, ()),
        group=np.arange(N) % 2,
    )
    assert named(measured) == {}
    assert named(copied(measured, [(k, k + 101) for k in range(8)])) == {"shared:site": True}


def test_copies_that_somebody_corrected_do_not_hide_the_others(sound: Examined) -> None:
    changed = copied(sound, [(k, k + 101) for k in range(40)])
    changed.X[:8, 1] = 1 - changed.X[:8, 1]
    assert named(changed) == {"shared:site": True}


def test_copies_of_which_two_sites_say_different_things_do_not_hide_the_others() -> None:
    """One column tells images apart; every third one is of another class at the other site."""
    image, first = np.tile(np.arange(N), 2), np.arange(N) % 2
    second = np.where(np.arange(N) % 3 == 0, 1 - first, first)
    read_twice = made(image, y=np.concatenate([first, second]), group=np.repeat([0, 1], N))
    assert named(read_twice) == {"shared:site": True}
