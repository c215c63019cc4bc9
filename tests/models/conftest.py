"""Modules of one's own, as users write them: each has something the built-in networks have not."""

import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description

TABLE = Description(shape=(5,), outputs=3)
SEQUENCE = Description(shape=(6, 4), outputs=3)


class Residual(nn.Module):
    """Layer norm, GELU, a sum, a dropout; what it ends with is not what it defines last."""

    def __init__(self, about: Description, dropout: float = 0.0) -> None:
        super().__init__()
        self.fc = nn.Linear(8, about.outputs)
        self.first = nn.Linear(about.shape[0], 8)
        self.norm = nn.LayerNorm(8)
        self.second = nn.Linear(8, 8)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.gelu(self.norm(self.first(x)))
        return self.fc(x + nn.functional.dropout(self.second(x), self.dropout, self.training))


class Recurrent(nn.Module):
    """A plain LSTM, which has no form for stacks."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.lstm = nn.LSTM(about.shape[1], 4, batch_first=True)
        self.fc = nn.Linear(4, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.lstm(x)[0][:, -1])


class Adapted(nn.Module):
    """A frozen body with batch norm and a small adapter."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(about.shape[0], 16), nn.BatchNorm1d(16), nn.ReLU())
        self.body.requires_grad_(False)
        self.adapter = nn.Linear(16, 2, bias=False)
        self.fc = nn.Linear(2, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.tanh(self.adapter(self.body(x))))
