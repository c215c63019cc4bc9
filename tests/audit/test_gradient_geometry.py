"""Inner products of records' gradients without the gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from secure_sapefl.audit.gradient_geometry import along, gradients_at, products
from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_inner_products_are_those_of_the_gradients(kind: str, records: Callable[..., Any]) -> None:
    made = records(kind)
    formed, direction = made.gradients(), torch.randn(made.model.parameters)
    ghosts = gradients_at(made.model, made.theta, made.x, made.y)
    torch.testing.assert_close(products(ghosts, ghosts), formed @ formed.T, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(along(ghosts, made.model, direction), formed @ direction, rtol=1e-4, atol=1e-5)


def test_a_model_with_dropout_has_them_too() -> None:
    """An audit of a study with a module of one's own ended in a traceback where it drops."""
    about = Description((4,), 3)
    dropping = ModuleModel.from_build(
        lambda _: nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.5), nn.GELU(), nn.Linear(5, 3)),
        about,
        np.random.default_rng(0),
    )
    assert dropping.draws
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    gradients = gradients_at(dropping, dropping.initial(np.random.default_rng()), x, y)
    found = products(gradients, gradients)
    assert found.shape == (6, 6)
    torch.testing.assert_close(found, found.T)
    assert (found.diagonal() > 0).all()
