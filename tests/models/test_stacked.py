"""The two networks as flat vectors: sizes counted by hand, and the stacked form against torch's own modules."""

import math

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from secure_sapefl.errors import BadInput
from secure_sapefl.models import stacked
from secure_sapefl.models.stacked import Linear, Pool, Preset, Relu, StackedModel, build_model

SHAPES = [(5,), (1, 8, 8), (3, 9, 6)]


@pytest.mark.parametrize(
    ("shape", "classes", "preset", "parameters"),
    [
        # 561*1024+1024 + 1024*512+512 + 512*256+256 + 256*6+6
        ((561,), 6, "paper", 575_488 + 524_800 + 131_328 + 1_542),
        # 20*128+128 + 128*64+64 + 64*10+10
        ((20,), 10, "small", 2_688 + 8_256 + 650),
        # 3*32*9+32 + 32*64*9+64 + (64*8*8)*128+128 + 128*10+10
        ((3, 32, 32), 10, "paper", 896 + 18_496 + 524_416 + 1_290),
        # 1*8*9+8 + 8*16*9+16 + (16*7*7)*64+64 + 64*10+10
        ((1, 28, 28), 10, "small", 80 + 1_168 + 50_240 + 650),
    ],
)
def test_parameters_counted_by_hand(shape: tuple[int, ...], classes: int, preset: Preset, parameters: int) -> None:
    model = build_model(shape, classes, preset)
    assert model.parameters == parameters
    assert sum(weight.numel() for weight in model.module().parameters()) == parameters


@pytest.mark.parametrize(("preset", "hidden"), [("paper", 256), ("small", 64)])
def test_the_head_is_the_last_linear_layer(preset: Preset, hidden: int) -> None:
    model = build_model((12,), 4, preset)
    assert model.parameters - model.head_start == hidden * 4 + 4


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stack_has_the_gradients_of_its_modules(shape: tuple[int, ...]) -> None:
    model = build_model(shape, 3, "small")
    theta = torch.stack([model.initial(np.random.default_rng(g)) for g in range(2)])
    x = torch.randn((2, 4, *shape), generator=torch.Generator().manual_seed(0))
    weights = [view.clone().requires_grad_() for view in model.views(theta)]
    gradients = torch.autograd.grad(model.apply(weights, x).square().sum(), weights)
    flat = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
    for g in range(2):
        module = model.module()
        vector_to_parameters(theta[g].clone(), module.parameters())
        own = torch.autograd.grad(module(x[g]).square().sum(), list(module.parameters()))
        torch.testing.assert_close(flat[g], parameters_to_vector(own), atol=1e-4, rtol=1e-4)


def test_an_answer_by_hand() -> None:
    """relu(2 * 1 + 1) = 3 and relu(-2) = 0; then (3, 0) . ((1, 1), (-1, 5)) + (0, 0.5) = (3, -2.5)."""
    model = StackedModel((Linear(1, 2), Relu(), Linear(2, 2)), 2, 2)
    theta = torch.tensor([[2.0, -2, 1, 0, 1, 1, -1, 5, 0, 0.5]])
    assert model.outputs(theta, torch.ones(1, 1, 1)).tolist() == [[[3, -2.5]]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chunk", [1, 1_000, 1 << 24])
def test_outputs_do_not_depend_on_the_size_of_chunks(
    shape: tuple[int, ...], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_model(shape, 3, "small")
    theta = model.initial(np.random.default_rng(0)).expand(2, -1)
    x = torch.randn((2, 7, *shape), generator=torch.Generator().manual_seed(0))
    expected = model.apply(model.views(theta), x)
    monkeypatch.setattr(stacked, "_CHUNK_VALUES", chunk)
    got = model.outputs(theta, x)
    assert not got.requires_grad
    torch.testing.assert_close(got, expected)


def test_initial_weights_are_torchs_default_distribution() -> None:
    """U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weights and biases alike; fan_in of a 3x3 convolution is 9 channels."""
    model = build_model((4, 8, 8), 10, "small")
    for view in model.views(model.initial(np.random.default_rng(0))[None])[:2]:
        bound = 1 / math.sqrt(9 * 4)
        assert view.abs().max() <= bound
    weight = build_model((100,), 10, "paper").views(
        build_model((100,), 10, "paper").initial(np.random.default_rng(0))[None]
    )[0]
    assert weight.abs().max() == pytest.approx(0.1, abs=1e-4)
    assert weight.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.02)


def test_initial_weights_come_from_the_stream_alone() -> None:
    model = build_model((5,), 3, "small")
    first, again, other = (model.initial(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.dtype == torch.float32


@pytest.mark.parametrize("shape", [(), (3, 4), (1, 2, 3, 4), (1, 3, 9), (3, 32, 2)])
def test_impossible_shapes_are_answered_in_a_sentence(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match=r"fit neither model|too small"):
        build_model(shape, 3, "small")


def test_a_maximum_is_rectified_after_it_is_taken_and_stays_the_same_to_the_bit() -> None:
    """Even where a window's values are equal, negative or both: against torch's own modules, in the order written."""
    model = StackedModel((Relu(), Pool()), 4, 4)
    x = torch.randint(-2, 3, (2, 3, 4, 6, 6), generator=torch.Generator().manual_seed(0)).float().requires_grad_()
    answers = model.apply([], x), torch.stack([model.module()(site) for site in x])
    assert torch.equal(*answers)
    assert torch.equal(*(torch.autograd.grad(answer.square().sum(), x)[0] for answer in answers))


def test_channels_stay_side_by_side_from_a_convolution_to_the_next() -> None:
    model = build_model((3, 8, 8), 2, "small")
    weights = model.views(model.initial(np.random.default_rng(0)).repeat(2, 1))
    body = StackedModel(model.layers[:3], 2, 2).apply(weights, torch.ones(2, 5, 3, 8, 8))
    assert body.transpose(0, 1).flatten(1, 2).is_contiguous(memory_format=torch.channels_last)
