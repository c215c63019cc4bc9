"""One step, however it is taken, is theta - lr * (gradient + pull)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.training.descent import descend
from secure_sapefl.training.objective import Pull


@pytest.mark.parametrize("sites", [1, 3])
@pytest.mark.parametrize("anchors", [0, 1, 2])
@given(seed=st.integers(0, 2**32), lr=st.floats(0, 1))
@settings(max_examples=20)
def test_a_step_is_the_same_for_one_model_and_for_many(sites: int, anchors: int, seed: int, lr: float) -> None:
    random = torch.Generator().manual_seed(seed)
    theta, gradient, first, second = torch.randn((4, sites, 6), generator=random, dtype=torch.float64)
    own, *coefficients = torch.randn((1 + anchors, sites), generator=random, dtype=torch.float64)
    pull = Pull(own, torch.stack(coefficients, 1), (first, second)[:anchors]) if anchors else None
    expected = theta - lr * (gradient if pull is None else gradient + pull.dense(theta))
    views = [theta[:, :4].view(sites, 2, 2), theta[:, 4:]]
    lying_across = gradient[:, :4].view(sites, 2, 2).mT.contiguous().mT  # as gradients come out of vmap
    descend(theta, views, [lying_across, gradient[:, 4:]], pull, lr)
    torch.testing.assert_close(theta, expected)
