from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger, Paid
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.trainer import PrivateTrainer, SiteNoise, epochs_privately, poisson_plan
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.optimizer import Pace
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer

MODEL = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
SIZES, STARTS = (40, 25, 9), (0, 40, 65)
BATCH = 5


@pytest.fixture
def shard() -> Shard:
    random = torch.Generator().manual_seed(1)
    return Shard(torch.randn((74, 4), generator=random), torch.randint(3, (74,), generator=random), STARTS, SIZES)


@pytest.fixture
def theta() -> Tensor:
    return torch.stack([MODEL.initial(np.random.default_rng(g)) for g in range(3)])


def keyed(sites: Sequence[int] = (0, 1, 2)) -> list[KeyedRandomness]:
    return [KeyedRandomness(np.random.default_rng((6, c))) for c in sites]


@pytest.fixture
def events(event: Callable[..., Event]) -> list[Event]:
    return [event(sample_rate=BATCH / n, steps=3 * -(-n // BATCH), noise_multiplier=1.0 + n / 100) for n in SIZES]


def pay(events: Sequence[Event]) -> list[Paid]:
    return [Ledger("north", Budget(1e6, 1e-5)).charge([one])[0] for one in events]


def train_privately(*about: Any) -> Tensor:
    return next(epochs_privately(*about, 1))


def test_every_record_is_drawn_by_itself_with_its_own_chance(event: Callable[..., Event]) -> None:
    plan = poisson_plan([50], [50], [event(sample_rate=0.1, steps=4000)], keyed([3]))
    drawn = plan.weight[:, 0] > 0
    sizes = drawn.sum(1)
    assert float(sizes.double().mean()) == pytest.approx(5, rel=0.03)
    assert float(sizes.double().var()) == pytest.approx(50 * 0.1 * 0.9, rel=0.1)
    counts = torch.bincount(plan.rows[:, 0][drawn], minlength=50).double() / 4000
    assert counts.min() > 0.07
    assert counts.max() < 0.13


def test_a_batch_holds_no_record_twice_and_weighs_by_the_expected_size(events: list[Event]) -> None:
    plan = poisson_plan(SIZES, SIZES, events, keyed())
    for g, (event, size) in enumerate(zip(events, SIZES, strict=True)):
        for t in range(event.steps):
            rows = plan.rows[t, g][plan.weight[t, g] > 0].tolist()
            assert len(set(rows)) == len(rows)
            assert all(row < size for row in rows)
    assert plan.weight[plan.weight > 0].unique().tolist() == pytest.approx([1 / BATCH])
    assert plan.active == tuple(sum(event.steps > t for event in events) for t in range(24))


def test_an_empty_batch_is_a_step_of_noise_alone(shard: Shard, theta: Tensor, event: Callable[..., Event]) -> None:
    """Nobody is drawn at a rate of 1e-9; the noise, divided by the expected batch, is 1e9 / n."""
    rare = event(sample_rate=1e-9, steps=2, noise_multiplier=1.0)
    out = train_privately(pay([rare] * 3), keyed(), MODEL, 1.0, theta, shard, SIZES, LocalLoss(), Pace(0.5e-9))
    for g, size in enumerate(SIZES):
        assert float((theta[g] - out[g]).std()) == pytest.approx(0.5 * 2**0.5 / size, rel=0.25)


def test_without_noise_or_clipping_it_is_the_plain_trainer(shard: Shard, theta: Tensor) -> None:
    plan = plan_batches(SIZES, [np.random.default_rng(g) for g in range(3)], epochs=2, batch_size=BATCH)
    silent = PrivateTrainer(MODEL, 1e6, tuple(SiteNoise(0.0, source) for source in keyed()))
    ours = silent.train(theta, shard, plan, LocalLoss(), 0.1)
    torch.testing.assert_close(ours, BatchedTrainer(MODEL).train(theta, shard, plan, LocalLoss(), 0.1))


def test_a_site_trains_the_same_alone_and_in_a_group(shard: Shard, theta: Tensor, events: list[Event]) -> None:
    together = train_privately(pay(events), keyed(), MODEL, 1.0, theta, shard, SIZES, LocalLoss(), Pace(0.1))
    for g in range(3):
        own = shard.narrow(slice(g, g + 1))
        alone = train_privately(
            pay([events[g]]), keyed([g]), MODEL, 1.0, theta[g : g + 1], own, own.sizes, LocalLoss(), Pace(0.1)
        )
        torch.testing.assert_close(together[g], alone[0], rtol=1e-4, atol=1e-5)


def test_noise_has_the_size_that_was_paid_for(shard: Shard, theta: Tensor, events: list[Event]) -> None:
    """Weights that see only zeros are moved by noise alone: a normal walk of step lr * s C / (q n)."""
    blind = Shard(torch.zeros_like(shard.x), shard.y, STARTS, SIZES)
    clip, walks = 1e-3, []
    for seed in range(10):
        sources = keyed(range(3 * seed, 3 * seed + 3))
        out = train_privately(
            pay(events), sources, MODEL, clip, torch.zeros_like(theta), blind, SIZES, LocalLoss(), Pace(0.1)
        )
        for first_layer, event in zip(out[:, :24], events, strict=True):
            walks.append(first_layer / (event.steps**0.5 * 0.1 * event.noise_multiplier * clip / BATCH))
    assert float(torch.cat(walks).std()) == pytest.approx(1, abs=0.1)


def test_two_trainings_are_two_payments(shard: Shard, theta: Tensor, events: list[Event]) -> None:
    paid = pay(events)
    train_privately(paid, keyed(), MODEL, 1.0, theta, shard, SIZES, LocalLoss(), Pace(0.1))
    with pytest.raises(RuntimeError, match="one event, one release"):
        train_privately(paid, keyed(), MODEL, 1.0, theta, shard, SIZES, LocalLoss(), Pace(0.1))


def test_the_start_is_left_alone(shard: Shard, theta: Tensor, events: list[Event]) -> None:
    before = theta.clone()
    train_privately(pay(events), keyed(), MODEL, 1.0, theta, shard, SIZES, LocalLoss(), Pace(0.1))
    assert torch.equal(theta, before)
