"""All records of a person are clipped as one: by hand, and whatever their number."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from secure_sapefl.models.stacked import Linear, Relu, StackedModel
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.shared.persons import person_sum
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer, Trainer

MODEL = StackedModel((Linear(4, 6), Relu(), Linear(6, 3)), classes=3, widest=6)
WHOSE = (7, 7, 7, 90, 90, 5, 7, 31, 31, 90)  # of the second site; the first has two rows of nobody's interest


@pytest.fixture
def shard() -> Shard:
    random = torch.Generator().manual_seed(5)
    x = 5 * torch.randn((12, 4), generator=random)
    persons = torch.tensor((1, 2, *WHOSE))
    return Shard(x, torch.randint(3, (12,), generator=random), (0, 2), (2, 10), persons=persons)


@pytest.fixture
def theta() -> Tensor:
    return MODEL.initial(np.random.default_rng(1))


def stream() -> KeyedRandomness:
    return KeyedRandomness(np.random.default_rng(4))


def mean_gradient(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    weights = theta.double().requires_grad_()
    logits = MODEL.apply(MODEL.views(weights[None]), x.double()[None])[0]
    return torch.autograd.grad(F.cross_entropy(logits, y), weights)[0]


@pytest.mark.parametrize("trainer", [BatchedTrainer(MODEL), SequentialTrainer(MODEL)])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_a_person_brings_the_mean_of_all_records_clipped(
    trainer: Trainer, rate: float, shard: Shard, theta: Tensor
) -> None:
    x, y = shard.site(1)
    names = sorted(set(WHOSE))
    taken = [name for name, coin in zip(names, stream().uniform(len(names)), strict=True) if coin < rate]
    assert 0 < len(taken) <= 4
    total = torch.zeros(MODEL.parameters, dtype=torch.float64)
    for name in taken:
        own = torch.tensor([person == name for person in WHOSE])
        gradient = mean_gradient(theta, x[own], y[own])
        total += gradient * min(1.0, 0.5 / float(gradient.norm()))
    found = person_sum(trainer, theta, shard, 1, rate, stream(), 0.5)
    torch.testing.assert_close(found.double(), total, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("copies", [1, 3, 200])
def test_nobody_moves_the_sum_further_than_the_clip(copies: int, theta: Tensor) -> None:
    """Clipped record by record, a person with 200 records would move it 200 clips."""
    x, y = 5 * torch.randn((1 + copies, 4), generator=torch.Generator().manual_seed(1)), torch.zeros(1 + copies).long()
    persons = torch.tensor([1] + [2] * copies)
    both, one = (
        person_sum(BatchedTrainer(MODEL), theta, Shard(x, y, (0,), (n,), persons=persons), 0, 1.0, stream(), 0.01)
        for n in (1 + copies, 1)
    )
    assert float((both - one).norm()) == pytest.approx(0.01, rel=1e-3)


def test_a_person_without_a_number_and_a_site_without_persons_bring_nothing(shard: Shard, theta: Tensor) -> None:
    spoilt = shard.x.clone()
    spoilt[7] = torch.nan  # the only record of person 5
    broken = Shard(spoilt, shard.y, shard.starts, shard.sizes, persons=shard.persons)
    found = person_sum(BatchedTrainer(MODEL), theta, broken, 1, 1.0, stream(), 0.5)
    assert found.isfinite().all()
    empty = Shard(shard.x, shard.y, (0,), (0,), persons=shard.persons)
    assert not person_sum(BatchedTrainer(MODEL), theta, empty, 0, 1.0, stream(), 0.5).any()


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_record_without_a_number_takes_nobody_else_along(bad: float, shard: Shard, theta: Tensor) -> None:
    """The site's first row is the one that padding would name."""
    spoilt = shard.x.clone()
    spoilt[2] = bad  # of person 7
    assert shard.persons is not None
    everybody = Shard(spoilt, shard.y, (2,), (10,), persons=shard.persons)
    found = person_sum(BatchedTrainer(MODEL), theta, everybody, 0, 1.0, stream(), 0.5)
    assert found.isfinite().all()
    kept = ~torch.isin(shard.persons, torch.tensor([1, 2, 7]))
    rest = Shard(shard.x[kept], shard.y[kept], (0,), (int(kept.sum()),), persons=shard.persons[kept])
    torch.testing.assert_close(found, person_sum(BatchedTrainer(MODEL), theta, rest, 0, 1.0, stream(), 0.5))


def test_rows_of_nobody_are_refused(shard: Shard, theta: Tensor) -> None:
    unknown = Shard(shard.x, shard.y, shard.starts, shard.sizes)
    with pytest.raises(RuntimeError, match="whose these rows are"):
        person_sum(BatchedTrainer(MODEL), theta, unknown, 1, 1.0, stream(), 0.5)
