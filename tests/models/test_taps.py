"""Linear layers inside any module: what is noted of their calls gives the gradients that autograd finds."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.training.gradients import Product, by_autograd, gradients
from secure_sapefl.training.objective import Batch, LocalLoss


class Once(nn.Module):
    """Each layer is called once, around a residual connection and a dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.fc = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        return self.fc(self.dropout(F.gelu(self.second(wide))) + wide)


class Twice(Once):
    """One layer is called twice."""

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(F.gelu(self.second(F.gelu(self.second(F.gelu(self.first(x)))))))


class Elsewhere(Once):
    """A weight is read by a product, and by something that is none."""

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(F.gelu(self.second(F.gelu(self.first(x)))) * (1 + self.second.weight.mean()))


class Unheard(Once):
    """What a layer answers is not used."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        self.second(wide)
        return self.fc(wide)


class Steps(Once):
    """A layer reads every step of a sequence."""

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(F.gelu(self.second(F.gelu(self.first(x.unflatten(1, (1, 4)).expand(-1, 3, -1))))).mean(1))


class Bare(Once):
    """Layers without a bias, or with one that stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6, bias=False)
        self.second.bias.requires_grad_(False)


NOTED = {Once: 3, Twice: 3, Elsewhere: 2, Unheard: 2, Steps: 3, Bare: 1}  # gradients that stay products


@pytest.mark.parametrize("kind", NOTED, ids=lambda kind: kind.__name__)
def test_the_gradients_are_those_of_autograd(kind: type[nn.Module]) -> None:
    model = ModuleModel.from_build(lambda _: kind(), Description((4,), 3), np.random.default_rng(0))
    random = torch.Generator().manual_seed(1)
    theta = torch.randn((2, model.parameters), generator=random)
    places, weight = torch.zeros(2, 5, dtype=torch.int64), torch.tensor([[0.2] * 5, [0.5, 0.5, 0, 0, 0]])
    x, y = torch.randn((2, 5, 4), generator=random), torch.randint(3, (2, 5), generator=random)
    batch = Batch(x, y, places, weight, torch.tensor([7, 8]))
    found = gradients(model, model.views(theta.clone()), batch, LocalLoss())
    assert sum(isinstance(one, Product) for one in found) == NOTED[kind]
    for one, expected in zip(found, by_autograd(model, model.views(theta), batch, LocalLoss()), strict=True):
        torch.testing.assert_close(one.written() if isinstance(one, Product) else one, expected, rtol=1e-5, atol=1e-6)
