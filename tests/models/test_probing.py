"""What a few made-up rows tell of a module."""

import torch
from torch import nn

from secure_sapefl.models.base import Description
from secure_sapefl.models.probing import draws, made_up, widest
from tests.models.conftest import TABLE, Residual


def test_the_widest_point_is_counted_in_values_of_one_row() -> None:
    """4 channels of 8 x 8 are more than the row itself and than the answer."""
    about = Description(shape=(3, 8, 8), outputs=2)
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    assert widest(module, about) == 4 * 64
    assert not module[0]._forward_hooks  # torch's own; nothing is left behind
    assert widest(nn.Linear(5, 3), TABLE) == 5


def test_a_dropout_is_met_wherever_it_is_called() -> None:
    assert draws(Residual(TABLE, dropout=0.1), TABLE)
    assert not draws(Residual(TABLE, dropout=0.0), TABLE)
    assert not draws(Residual(TABLE, dropout=0.1).eval(), TABLE)


def test_made_up_rows_are_always_the_same_small_numbers() -> None:
    rows = made_up((2, 3), 4, 5)
    assert rows.shape == (4, 5, 2, 3)
    assert torch.equal(rows, made_up((2, 3), 4, 5))
    assert rows.min() >= 0
    assert rows.max() < 1
