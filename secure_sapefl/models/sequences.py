"""Networks for sequences: an LSTM and a small transformer, of Opacus' layers.

Opacus' recurrent and attention layers are made of linear ones, so that they can be stacked and that the gradient of
each record is known; torch's own are single operators, for which neither is so.
"""

from typing import Final

import torch
from opacus.layers import DPLSTM, DPMultiheadAttention
from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description

_HIDDEN: Final = 32
_HEADS: Final = 4
_BLOCKS: Final = 2


def lstm(about: Description) -> nn.Module:
    _, channels = _sequence(about, "lstm")
    return LstmNet(channels, about.outputs)


def transformer(about: Description) -> nn.Module:
    steps, channels = _sequence(about, "transformer")
    return TransformerNet(steps, channels, about.outputs)


def _sequence(about: Description, name: str) -> tuple[int, int]:
    match about.shape:
        case (steps, channels):
            return steps, channels
    raise BadInput(f"Rows of shape {about.shape} are no sequences: the model `{name}` reads (steps, channels).")


class LstmNet(nn.Module):
    """The LSTM's answer after the last step, and a linear layer."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        self.lstm = DPLSTM(channels, _HIDDEN, batch_first=True)
        self.fc = nn.Linear(_HIDDEN, outputs)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.fc(self.lstm(x)[0][:, -1])
        return answer


class TransformerNet(nn.Module):
    """Steps and where they stand, two blocks of attention, the mean over steps, a linear layer."""

    def __init__(self, steps: int, channels: int, outputs: int) -> None:
        super().__init__()
        self.values = nn.Linear(channels, _HIDDEN)
        self.places = nn.Embedding(steps, _HIDDEN)
        self.blocks = nn.Sequential(*(Block() for _ in range(_BLOCKS)))
        self.norm = nn.LayerNorm(_HIDDEN)
        self.fc = nn.Linear(_HIDDEN, outputs)

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])  # for each record, as Opacus counts
        x = self.blocks(self.values(x) + self.places(places))
        answer: Tensor = self.fc(self.norm(x).mean(1))
        return answer


class Block(nn.Module):
    """Attention, then two linear layers, each on what was normed and added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.LayerNorm(_HIDDEN)
        self.attention = DPMultiheadAttention(_HIDDEN, _HEADS, batch_first=True)
        self.between = nn.LayerNorm(_HIDDEN)
        self.there = nn.Linear(_HIDDEN, 2 * _HIDDEN)
        self.back = nn.Linear(2 * _HIDDEN, _HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.before(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        y: Tensor = self.back(F.gelu(self.there(self.between(x))))
        return x + y
