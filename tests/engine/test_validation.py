"""Training rows that are held back."""

from dataclasses import replace

import numpy as np
import pytest

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
