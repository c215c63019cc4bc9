"""A large body that stands still, and small adapters that are trained (LoRA, Hu et al. 2021, arXiv:2106.09685).

    secure-sapefl simulate --dataset blood --model examples/models/adapters.py:build --head fc

Only what requires a gradient travels. The body here is drawn at random, from the study's seed, and stands in for one
that was trained elsewhere: give such weights with --init FILE.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description

WIDTH, LAYERS, RANK = 1024, 3, 4


class Adapted(nn.Module):
    """W x + b, which stands still, and B A x beside it, which is trained."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.frozen = nn.Linear(inputs, outputs).requires_grad_(False)
        self.down = nn.Linear(inputs, RANK, bias=False)
        self.up = nn.Linear(RANK, outputs, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.frozen(x) + self.up(self.down(x)))


class Net(nn.Module):
    def __init__(self, about: Description) -> None:
        super().__init__()
        widths = [math.prod(about.shape), *[WIDTH] * LAYERS]
        self.body = nn.Sequential(nn.Flatten(), *(Adapted(a, b) for a, b in pairwise(widths)))
        self.fc = nn.Linear(WIDTH, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.fc(self.body(x))
        return answer


def build(about: Description) -> nn.Module:
    return Net(about)
