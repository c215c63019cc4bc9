"""A model whose code is elsewhere: it counts, and answers nothing."""

import numpy as np
import pytest
import torch

from secure_sapefl.errors import BadInput
from secure_sapefl.models.base import Description
from secure_sapefl.models.declared import DeclaredModel, Parameter, declared_weights
from secure_sapefl.models.presets import Choice, made

MODEL = DeclaredModel(weights=(Parameter("w", (3, 2)), Parameter("b", (3,))), head_start=6, classes=3, digest="d")


def test_it_is_as_long_as_its_tensors_together() -> None:
    assert MODEL.parameters == 9
    theta = MODEL.initial(np.random.default_rng())
    assert (theta.shape, theta.device.type) == ((9,), "meta")


@pytest.mark.parametrize(
    "question",
    [
        lambda: MODEL.outputs(torch.zeros(1, 9), torch.zeros(1, 1, 2)),
        lambda: MODEL.apply([], torch.zeros(1)),
        lambda: MODEL.views(torch.zeros(1, 9)),
        MODEL.module,
        lambda: MODEL.body,
        lambda: MODEL.head,
        lambda: MODEL.draws,
        lambda: MODEL.unstackable,
    ],
)
def test_whoever_asks_it_for_more_is_refused(question: object) -> None:
    with pytest.raises(BadInput, match="in a site's trainer process alone"):
        question()  # type: ignore[operator]


def test_a_model_that_is_here_is_declared_in_the_order_of_its_vector() -> None:
    model = made(Choice(name="linear"), Description((4,), 2), np.random.default_rng(0)).model
    weights = declared_weights(model)
    assert sum(torch.Size(weight.shape).numel() for weight in weights) == model.parameters
    assert [weight.shape for weight in weights] == [(2, 4), (2,)]


def test_a_carried_model_cannot_be_made_from_its_name() -> None:
    with pytest.raises(BadInput, match="name its file: --model"):
        made(Choice(name="carried"), Description((4,), 2), np.random.default_rng(0))
