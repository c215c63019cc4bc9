"""Validation rows come from training rows and from nowhere else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.errors import BadInput
from secure_sapefl.experiments.cells import with_validation_rows


def numbered(*labels: list[int], tests: int = 2) -> Federation:
    """Clients whose rows carry numbers of their own, so that a row can be found again."""
    clients, first = [], 0
    for c, y in enumerate(labels):
        n = len(y) + tests
        x = np.arange(first, first + n, dtype=np.float32)[:, None]
        first += n
        train = Rows(x[: len(y)], np.array(y, dtype=np.int64))
        clients.append(ClientData(name=f"c{c}", train=train, test=Rows(x[len(y) :], np.zeros(tests, dtype=np.int64))))
    return Federation(
        dataset="n", shape=(1,), class_names=("a", "b", "c"), clients=tuple(clients), source="numbers", partition="none"
    )


def ids(rows: Rows) -> set[int]:
    return set(rows.X[:, 0].astype(int).tolist())


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=40), min_size=1, max_size=4), st.integers(0, 99))
def test_training_and_validation_rows_are_exactly_the_old_training_rows(labels: list[list[int]], seed: int) -> None:
    before = numbered(*labels)
    after = with_validation_rows(before, seed)
    for old, new in zip(before.clients, after.clients, strict=True):
        assert ids(new.train) | ids(new.test) == ids(old.train)
        assert not ids(new.train) & ids(new.test)
        assert not ids(old.test) & (ids(new.train) | ids(new.test))
        assert len(new.train)
        assert len(new.test)
        if np.bincount(old.train.y).max() > 1:
            assert set(new.train.y.tolist()) == set(old.train.y.tolist())
        label_of = dict(zip(old.train.X[:, 0].tolist(), old.train.y.tolist(), strict=True))
        assert [label_of[x] for x in new.test.X[:, 0].tolist()] == new.test.y.tolist()


def test_a_fifth_of_each_class_is_held_out_as_one_stretch() -> None:
    federation = numbered([0] * 50 + [1] * 100)
    held_out = with_validation_rows(federation, 3).clients[0].test
    assert np.bincount(held_out.y).tolist() == [10, 20]
    for label in (0, 1):
        assert np.all(np.diff(np.sort(held_out.X[held_out.y == label, 0])) == 1)


def test_the_seed_decides() -> None:
    federation = numbered([0] * 50 + [1] * 100)
    first, again, other = (with_validation_rows(federation, seed).clients[0] for seed in (1, 1, 2))
    assert ids(first.test) == ids(again.test) != ids(other.test)


def test_a_client_with_one_training_row_cannot_be_tuned_on() -> None:
    with pytest.raises(BadInput, match="'c1' has a single training row"):
        with_validation_rows(numbered([0, 1], [0]), 0)
