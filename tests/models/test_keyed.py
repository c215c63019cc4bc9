"""Masks from keys: SplitMix64's known answers, shares, independence of grouping, and refusals of what else draws."""

import pytest
import torch
from torch import nn
from torch.func import vmap
from torch.nn import functional as F

from secure_sapefl.errors import BadInput
from secure_sapefl.models.keyed import KeyedDraws, derived, mixed, uniform

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)


def test_the_hash_is_splitmix64() -> None:
    """The first numbers of the published generator for the seed 1234567."""
    seeds = torch.tensor([1234567]) + GOLDEN * torch.arange(1, 4)
    unsigned = [int(number) % (1 << 64) for number in mixed(seeds)]
    assert unsigned == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_are_uniform_and_rows_do_not_depend_on_how_many_there_are() -> None:
    drawn = uniform(torch.tensor(5), (1000, 50))
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.005)
    assert drawn.std() == pytest.approx(12**-0.5, abs=0.005)
    assert torch.equal(uniform(torch.tensor(5), (10, 50)), drawn[:10])


def test_keys_of_occasions_differ() -> None:
    keys = torch.stack([derived(torch.arange(100), occasion) for occasion in range(100)])
    assert len(keys.unique()) == 100 * 100


@pytest.mark.parametrize("p", [0.0, 0.2, 0.7, 1.0])
def test_dropout_keeps_its_share_and_the_mean(p: float) -> None:
    x = torch.ones(200, 300)
    with KeyedDraws(torch.tensor(3)):
        kept = F.dropout(x, p)
    assert (kept == 0).float().mean() == pytest.approx(p, abs=0.01)
    if p < 1:
        assert kept.max() == pytest.approx(1 / (1 - p))


def test_two_layers_of_a_pass_drop_different_places_and_two_passes_the_same() -> None:
    x, layers = torch.ones(20, 30), nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
    with KeyedDraws(torch.tensor(3)):
        both = layers(x)
    with KeyedDraws(torch.tensor(3)):
        assert torch.equal(layers(x), both)
    assert (both > 0).float().mean() == pytest.approx(0.25, abs=0.06)


def test_channels_are_dropped_whole() -> None:
    with KeyedDraws(torch.tensor(1)):
        kept = nn.Dropout2d(0.5)(torch.ones(8, 16, 3, 3))
    sums = kept.sum((2, 3))
    assert set(sums.flatten().tolist()) == {0.0, 18.0}


def test_a_stack_of_keys_drops_as_each_key_alone() -> None:
    keys, x = torch.tensor([4, 9]), torch.ones(2, 5, 6)

    def dropped(rows: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        with KeyedDraws(key):
            return F.dropout(rows, 0.5)

    together = vmap(dropped)(x, keys)
    assert torch.equal(together, torch.stack([dropped(*site) for site in zip(x, keys, strict=True)]))
    assert not torch.equal(together[0], together[1])


def test_outside_of_training_nothing_is_dropped() -> None:
    x = torch.ones(4, 4)
    with KeyedDraws(torch.tensor(1)) as draws:
        assert torch.equal(nn.Dropout(0.9).eval()(x), x)
    assert draws.drawn == 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x + torch.randn_like(x),
        lambda x: x + torch.rand(3),
        lambda x: torch.bernoulli(x),
        lambda x: F.alpha_dropout(x, 0.5, training=True),
        lambda x: x.clone().uniform_(),
        lambda x: F.scaled_dot_product_attention(x, x, x, None, 0.5),
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    ],
)
def test_what_else_draws_is_refused_by_name(draw) -> None:
    with KeyedDraws(torch.tensor(1)), pytest.raises(BadInput, match=r"draws random numbers by \w+ .*nn.Dropout"):
        draw(torch.zeros(3, 3))
