"""Events, ledgers and a model small enough to follow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.training.objective import Batch

MLP = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
CNN = StackedModel(
    (
        Convolution(2, 3),
        Relu(),
        Pool(),
        Convolution(3, 4),
        Relu(),
        Pool(),
        Flatten(),
        Linear(16, 5),
        Relu(),
        Linear(5, 3),
    ),
    classes=3,
    widest=2 * 64,
)
SHAPES = {"mlp": (4,), "cnn": (2, 8, 8)}


@pytest.fixture(params=["mlp", "cnn"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(kind: str) -> Model:
    return {"mlp": MLP, "cnn": CNN}[kind]


@pytest.fixture
def theta(model: Model) -> Tensor:
    """Three sites' weights."""
    return torch.stack([model.initial(np.random.default_rng((3, g))) for g in range(3)])


@pytest.fixture
def batch(kind: str) -> Batch:
    """Three sites, five places in a batch; the last two of the second site are padding."""
    random = torch.Generator().manual_seed(8)
    weight = torch.full((3, 5), 1 / 5)
    weight[1, 3:] = 0
    x = 2 * torch.randn((3, 5, *SHAPES[kind]), generator=random)
    return Batch(x, torch.randint(3, (3, 5), generator=random), torch.arange(5).repeat(3, 1), weight)


@pytest.fixture
def event() -> Callable[..., Event]:
    def make(**changes: Any) -> Event:
        fields: dict[str, Any] = {
            "mechanism": "dp-sgd",
            "release": "update",
            "noise_multiplier": 1.3,
            "sample_rate": 0.05,
            "steps": 100,
            "round_index": 0,
            "study": "s",
        }
        return Event(**(fields | changes))

    return make


@pytest.fixture
def budget() -> Budget:
    return Budget(epsilon=4.0, delta=1e-5)
