"""A small residual network for images (He et al. 2016, arXiv:1512.03385), with group norm (Wu & He 2018,
arXiv:1803.08494) in place of batch norm: what a record is answered does not depend on others, and nothing is kept."""

from typing import Final

from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description

_WIDTHS: Final = (16, 32, 64)
_GROUP: Final = 8  # channels that are normed together


def resnet(about: Description) -> nn.Module:
    match about.shape:
        case (channels, height, width) if min(height, width) >= 4:
            return ResNet(channels, about.outputs)
    raise BadInput(f"Rows of shape {about.shape} are no images: `resnet` reads (channels, height, width), from 4 x 4.")


class ResNet(nn.Module):
    """A convolution, three blocks of two with halved images between them, the mean over pixels, a linear layer."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(channels, _WIDTHS[0], 3, padding=1, bias=False)
        self.norm = _norm(_WIDTHS[0])
        inputs = (_WIDTHS[0], *_WIDTHS[:-1])
        self.blocks = nn.Sequential(*(Block(a, b) for a, b in zip(inputs, _WIDTHS, strict=True)))
        self.fc = nn.Linear(_WIDTHS[-1], outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(F.relu(self.norm(self.stem(x))))
        answer: Tensor = self.fc(x.mean((2, 3)))
        return answer


class Block(nn.Module):
    """x + f(x); where there are more channels behind it, images are halved and x is brought to them by 1 x 1."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.first_norm = _norm(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = _norm(outputs)
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.shortcut(x))


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(channels // _GROUP, channels)
