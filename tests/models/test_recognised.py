"""Modules of our layers are run as ours, with their own weights and names; all others stay what they are."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description, flat, loaded
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.recognised import RecognisedModel, recognised
from tests.models.conftest import TABLE, Adapted, Residual

IMAGE = Description((1, 8, 8), 3)


class Mlp(nn.Module):
    """As users write it; what it defines last is not what it ends with."""

    def __init__(self, about: Description) -> None:
        super().__init__()
        self.fc = nn.Linear(6, about.outputs)
        self.first = nn.Linear(about.shape[0], 7)
        self.second = nn.Linear(7, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.relu(self.second(nn.functional.relu(self.first(x)))))


def cnn(about: Description) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, about.outputs)
    )


def made(build: Callable[[Description], nn.Module], about: Description, head: str | None = None) -> ModuleModel:
    return ModuleModel.from_build(build, about, np.random.default_rng(0), head)


@pytest.mark.parametrize(("build", "about", "head"), [(Mlp, TABLE, None), (Mlp, TABLE, "fc"), (cnn, IMAGE, "4")])
def test_a_straight_line_answers_and_learns_like_the_module(build, about, head) -> None:
    own = made(build, about, head)
    model = recognised(own)
    assert isinstance(model, RecognisedModel)
    start = model.initial(np.random.default_rng())
    theta = start + 0.1 * torch.randn((3, len(start)), generator=torch.Generator().manual_seed(0))
    x = torch.randn((3, 4, *about.shape), generator=torch.Generator().manual_seed(1))
    for g in range(3):
        module = loaded(model, theta[g])
        assert type(module) is type(own.template)
        torch.testing.assert_close(model.outputs(theta, x)[g], module(x[g]), atol=1e-5, rtol=1e-4)
        assert torch.equal(flat(model, module), theta[g])
    features = model.body.outputs(theta[:, : model.head_start], x)
    torch.testing.assert_close(model.head.outputs(theta[:, model.head_start :], features), model.outputs(theta, x))


def test_weights_start_as_the_module_has_them_and_keep_their_names() -> None:
    own = made(Mlp, TABLE)
    model = recognised(own)
    assert isinstance(model, RecognisedModel)
    assert model.names[0] == "first.weight"
    assert model.names[-1] == "fc.bias"
    assert loaded(model, model.initial(np.random.default_rng())).state_dict().keys() == own.template.state_dict().keys()
    assert torch.equal(model.initial(np.random.default_rng())[:35], own.template.first.weight.flatten())


def twice(about: Description) -> nn.Module:
    layer = nn.Linear(5, 5)
    return nn.Sequential(layer, layer, nn.Linear(5, 3))


def hooked(about: Description) -> nn.Module:
    layer = nn.Linear(5, 5)
    layer.register_full_backward_hook(lambda _, given, __: tuple(-one for one in given))
    return nn.Sequential(nn.Linear(5, 5), layer, nn.Linear(5, 3))


@pytest.mark.parametrize(
    "build",
    [
        hooked,
        Residual,
        Adapted,
        twice,
        lambda about: nn.Sequential(nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 3)),
        lambda about: nn.Sequential(nn.Linear(5, 4, bias=False), nn.ReLU(), nn.Linear(4, 3)),
        lambda about: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU()),
        lambda about: nn.Sequential(nn.Linear(5, 4).requires_grad_(False), nn.ReLU(), nn.Linear(4, 3)),
    ],
)
def test_what_is_something_else_stays_as_it_is(build) -> None:
    own = made(build, TABLE)
    assert recognised(own) is own


def test_other_settings_of_a_layer_are_not_taken_for_ours() -> None:
    for convolution in (nn.Conv2d(1, 2, 3), nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")):
        layers = (convolution, nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
        own = made(lambda about, layers=layers: nn.Sequential(*layers), IMAGE)
        assert recognised(own) is own
