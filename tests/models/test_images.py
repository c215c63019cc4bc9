"""The residual network: its weights counted by hand, and that it looks at a picture as a whole."""

import torch

from secure_sapefl.models.base import Description
from secure_sapefl.models.images import Block, resnet


def test_parameters_counted_by_hand() -> None:
    """Convolutions without bias; a group norm has two numbers a channel."""
    stem = 3 * 16 * 9 + 2 * 16
    first = 2 * 16 * 16 * 9 + 4 * 16
    second = 16 * 32 * 9 + 32 * 32 * 9 + 4 * 32 + 16 * 32
    third = 32 * 64 * 9 + 64 * 64 * 9 + 4 * 64 + 32 * 64
    module = resnet(Description((3, 28, 28), 10))
    assert sum(weight.numel() for weight in module.parameters()) == stem + first + second + third + 64 * 10 + 10


def test_a_block_whose_convolutions_are_silent_is_its_shortcut() -> None:
    block = Block(8, 8)
    torch.nn.init.zeros_(block.second_norm.weight)
    x = torch.rand(2, 8, 5, 5)
    assert torch.equal(block(x), x)
    assert Block(8, 16)(x).shape == (2, 16, 3, 3)


def test_images_of_any_size_and_depth_are_read() -> None:
    for shape in ((1, 4, 4), (3, 28, 28), (5, 9, 17)):
        assert resnet(Description(shape, 4))(torch.rand(2, *shape)).shape == (2, 4)
