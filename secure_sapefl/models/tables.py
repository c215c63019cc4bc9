"""A residual network for tables, after Gorishniy et al. 2021 (arXiv:2106.11959), with layer norm for batch norm."""

from typing import Final

from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description

_WIDTH: Final = 64
_BLOCKS: Final = 2
_DROPOUT: Final = 0.1


def table(about: Description) -> nn.Module:
    match about.shape:
        case (features,):
            return TableNet(features, about.outputs)
    raise BadInput(f"Rows of shape {about.shape} are no rows of a table: the model `table` reads (features,).")


class TableNet(nn.Module):
    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, _WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(_BLOCKS)))
        self.norm = nn.LayerNorm(_WIDTH)
        self.fc = nn.Linear(_WIDTH, outputs)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.fc(F.relu(self.norm(self.blocks(self.first(x)))))
        return answer


class Block(nn.Module):
    """x + f(norm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(_WIDTH)
        self.there = nn.Linear(_WIDTH, 2 * _WIDTH)
        self.back = nn.Linear(2 * _WIDTH, _WIDTH)
        self.dropout = nn.Dropout(_DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.back(self.dropout(F.relu(self.there(self.norm(x)))))
        return x + y
