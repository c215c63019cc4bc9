"""Rows back from a step: exactly from a table's, nearly from an image's."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from secure_sapefl.audit.inversion import Attack, invert, labels_moved, nearest

Records = Callable[..., Any]  # of conftest.py


def test_one_row_of_a_table_comes_back_exactly(records: Records) -> None:
    made = records("mlp", rows=2)
    update = -0.1 * made.gradients()
    for victim, row in enumerate(made.x):
        found = invert(made.model, made.theta, update, made.x, 1, Attack(), seed=0)[victim]
        assert nearest(found, row[None], torch.zeros(5))[0].error < 1e-3
    assert labels_moved(made.model, update, 1)[:, 0].tolist() == made.y.tolist()


def test_labels_are_shared_out_as_the_bias_rose(records: Records) -> None:
    model = records("mlp").model
    update = torch.zeros((1, model.parameters))
    update[0, -3:] = torch.tensor([0.75, -1.0, 0.25])
    assert labels_moved(model, update, 4)[0].tolist() == [0, 0, 0, 2]


def test_an_image_is_found_better_than_by_its_average(records: Records) -> None:
    made = records("cnn", rows=1)
    update, attack = -0.1 * made.gradients(), Attack(steps=60, starts=1)
    found, again = (invert(made.model, made.theta, update, made.x, 1, attack, seed=0)[0] for _ in range(2))
    assert nearest(found, made.x, torch.zeros(made.x.shape[1:]))[0].error < 0.9
    assert torch.equal(found, again)


def test_the_error_is_relative_to_the_average_row() -> None:
    rows = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    (near,) = nearest(torch.tensor([[3.0, 3.0]]), rows, torch.zeros(2))
    assert near.error == pytest.approx(1 / 5)
    assert near.true.tolist() == [3.0, 4.0]
