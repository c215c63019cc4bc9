"""Linear layers inside any module: what is noted of their calls gives the gradients that autograd finds."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from secure_sapefl.models.base import Description, joined
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.training.gradients import Product, by_autograd, gradients
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.trainer import SequentialTrainer


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


class Overwritten(Once):
    """What layers answer is written over, whole and in part."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.relu(self.first(x), inplace=True)
        other = self.second(wide)
        other.view(-1, 2, 3)[:, 0].mul_(2)
        other += wide
        return self.fc(other).mul_(3)


class Unlearned(Once):
    """A layer is read where nothing is learned, and where something is."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        with torch.no_grad():
            still = self.second(wide)
        with torch.inference_mode():
            other = self.second(wide)
        return self.fc(wide + still + other.clone() + self.second(wide.detach()))


class Halved(Once):
    """A layer calculates in half precision."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            other = self.second(wide)
        return self.fc(wide + other.float())


class Nested(Once):
    """A stack within the stack, as many as there are sites; and one as many as there are records."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        twice = torch.vmap(self.second)(wide.expand(2, -1, -1)).sum(0)
        return self.fc(wide + twice + torch.vmap(self.second)(wide))


class Biased(Once):
    """Layers whose bias is one for all outputs, in two spellings, and another one for each record."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.single = nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.tensor([0.2]))

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        ours = F.linear(wide, self.fc.weight, self.one) + F.linear(wide, self.fc.weight, self.single)
        return ours + F.linear(wide, self.fc.weight, ours * 2)


class Empty(Once):
    """A layer is given nothing."""

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.first(x))
        return self.fc(wide + self.second(wide.unsqueeze(1)[:, :0]).sum(1))


NOTED = {
    Once: 3,
    Twice: 3,
    Elsewhere: 2,
    Unheard: 2,
    Steps: 3,
    Bare: 1,
    Overwritten: 3,
    Unlearned: 3,
    Halved: 2,
    Nested: 2,
    Biased: 1,
    Empty: 2,
}  # fmt: skip; gradients that stay products


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
    written = [one.written() if isinstance(one, Product) else one for one in found]
    for one, expected in zip(written, by_autograd(model, model.views(theta), batch, LocalLoss()), strict=True):
        torch.testing.assert_close(one, expected, rtol=1e-5, atol=1e-6)
    reference = SequentialTrainer(model).gradient(theta, batch, LocalLoss())
    apart = (joined(written) - reference).norm() / reference.norm()
    assert apart <= (1e-2 if kind is Halved else 1e-6)  # half precision rounds otherwise side by side
