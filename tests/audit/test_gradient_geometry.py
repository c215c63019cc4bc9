"""Inner products of records' gradients without the gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from secure_sapefl.audit.gradient_geometry import along, gradients_at, products


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_inner_products_are_those_of_the_gradients(kind: str, records: Callable[..., Any]) -> None:
    made = records(kind)
    formed, direction = made.gradients(), torch.randn(made.model.parameters)
    ghosts = gradients_at(made.model, made.theta, made.x, made.y)
    torch.testing.assert_close(products(ghosts, ghosts), formed @ formed.T, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(along(ghosts, made.model, direction), formed @ direction, rtol=1e-4, atol=1e-5)
