"""Training rows that are held back."""

from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.config import PublicFacts
from secure_sapefl.data import ClientData, Federation, Rows
from secure_sapefl.engine.validation import with_validation_rows
from secure_sapefl.errors import BadInput
from secure_sapefl.labels import Labels


def federation(y: np.ndarray, labels: Labels) -> Federation:
    rows = Rows(np.arange(len(y), dtype=np.float32)[:, None], y)
    client = ClientData(name="a", train=rows, test=rows)
    return Federation(
        dataset="d", shape=(1,), class_names=("x", "y"), clients=(client,), source="s", partition="iid", labels=labels
    )


def test_numbers_are_held_back_from_every_tenth_of_them() -> None:
    y = np.arange(50, dtype=np.float32)[:, None]
    (client,) = with_validation_rows(federation(y, Labels("number")), 0, "").clients
    assert client.validation is not None
    assert sorted((client.validation.y[:, 0] // 5).tolist()) == list(range(10))
    assert len(client.train) == 40
    assert client.test.y is y


def test_labels_of_yes_and_no_too() -> None:
    y = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
    (client,) = with_validation_rows(federation(y, Labels("yes-no")), 0, "").clients
    assert client.validation is not None
    assert client.validation.y.sum(0).tolist() == [2.0, 2.0]


def test_a_single_row_cannot_be_divided() -> None:
    one = federation(np.array([0]), Labels())
    with pytest.raises(BadInput, match=r"'a' has a single training row.*Do this\."):
        with_validation_rows(replace(one), 0, "Do this.")


def test_segments_are_held_back_whole() -> None:
    segments = np.repeat(np.arange(20), 5)
    rows = Rows(np.arange(100, dtype=np.float32)[:, None], segments % 2, segments=segments)
    one = federation(rows.y, Labels("class"))
    (client,) = with_validation_rows(replace(one, clients=(replace(one.clients[0], train=rows),)), 0, "").clients
    assert client.validation is not None
    assert client.validation.segments is not None
    assert client.train.segments is not None
    assert not set(client.validation.segments) & set(client.train.segments)
    assert np.bincount(client.validation.y).tolist() == [10, 10]


def test_a_site_with_one_segment_holds_nothing_back() -> None:
    rows = Rows(np.zeros((6, 1), np.float32), np.arange(6) % 2, segments=np.zeros(6, np.int64))
    one = federation(rows.y, Labels("class"))
    (client,) = with_validation_rows(replace(one, clients=(replace(one.clients[0], train=rows),)), 0, "").clients
    assert client.validation is not None
    assert (len(client.train), len(client.validation)) == (6, 0)


def test_in_a_private_study_coins_hold_back_whole_segments_as_they_choose_who_is_tested() -> None:
    segments = np.repeat(np.arange(400), 3)
    rows = Rows(np.zeros((1200, 1), np.float32), (segments == 0).astype(np.int64), segments=segments)
    one = replace(federation(rows.y, Labels("class")), public=PublicFacts())
    one = replace(one, clients=(replace(one.clients[0], train=rows),))
    without_the_class, shares = 0, list[float]()
    for seed in range(40):
        (client,) = with_validation_rows(one, seed, "").clients
        assert client.validation is not None
        assert client.validation.segments is not None
        assert client.train.segments is not None
        assert not set(client.validation.segments) & set(client.train.segments)
        shares.append(len(client.validation) / 1200)
        without_the_class += not client.train.y.any()
    assert 0.15 < np.mean(shares) < 0.25
    assert without_the_class, "the one segment of a class may be held back, too"
