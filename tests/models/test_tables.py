"""The network for tables: its weights counted by hand, and what a block adds."""

import torch

from secure_sapefl.models.base import Description
from secure_sapefl.models.tables import Block, table


def test_parameters_counted_by_hand() -> None:
    block = 2 * 64 + (64 * 128 + 128) + (128 * 64 + 64)
    module = table(Description((13,), 2))
    assert sum(weight.numel() for weight in module.parameters()) == (13 * 64 + 64) + 2 * block + 2 * 64 + (64 * 2 + 2)


def test_a_block_adds_to_what_came_in() -> None:
    block = Block()
    torch.nn.init.zeros_(block.back.weight)
    torch.nn.init.zeros_(block.back.bias)
    x = torch.rand(3, 64)
    assert torch.equal(block(x), x)
