"""Networks for sequences: weights counted by hand, that order matters to them, and that places are told apart."""

import pytest
import torch

from secure_sapefl.models.base import Build, Description
from secure_sapefl.models.sequences import lstm, transformer

ABOUT = Description((12, 9), 6)


def parameters(build: Build) -> int:
    return sum(weight.numel() for weight in build(ABOUT).parameters())


def test_parameters_counted_by_hand() -> None:
    """Four gates of 32, read from 9 channels and from 32 of before; three projections and an output of attention."""
    assert parameters(lstm) == (9 * 128 + 128) + (32 * 128 + 128) + (32 * 6 + 6)
    block = 2 * 64 + 4 * (32 * 32 + 32) + (32 * 64 + 64) + (64 * 32 + 32)
    assert parameters(transformer) == (9 * 32 + 32) + 12 * 32 + 2 * block + 64 + (32 * 6 + 6)


@pytest.mark.parametrize("build", [lstm, transformer])
def test_the_order_of_steps_matters(build: Build) -> None:
    torch.manual_seed(0)
    module, x = build(ABOUT).eval(), torch.rand(2, 12, 9)
    assert module(x).shape == (2, 6)
    assert not torch.allclose(module(x), module(x.flip(1)), atol=1e-4)


def test_the_lstm_is_torchs_own() -> None:
    """With the same weights, Opacus' layer answers like nn.LSTM."""
    module, x = lstm(ABOUT), torch.rand(2, 12, 9)
    theirs = torch.nn.LSTM(9, 32, batch_first=True)
    theirs.load_state_dict(module.lstm.state_dict())
    torch.testing.assert_close(module.lstm(x)[0], theirs(x)[0])
