"""Single private steps: clipped by hand, noised as paid for, answered once."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.events import Budget, Event
from secure_sapefl.privacy.ledger import Ledger
from secure_sapefl.privacy.per_record import record_gradients
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.record_gradients import differences, squared_norms
from secure_sapefl.privacy.steps import PrivateStep, steps_privately
from secure_sapefl.privacy.trainer import SiteNoise, epochs_privately
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.optimizer import Pace
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer


def silent(sites: int) -> list[SiteNoise]:
    return [SiteNoise(0.0, KeyedRandomness(np.random.default_rng(g))) for g in range(sites)]


def own_gradients(model: Model, theta: Tensor, batch: Batch, g: int) -> Tensor:
    """One record after the other, by the plain trainer, [B, P]."""
    trainer = BatchedTrainer(model)
    rows = []
    for i in range(batch.y.shape[1]):
        one = Batch(batch.x[g, i][None, None], batch.y[g, i][None, None], torch.zeros(1, 1), torch.ones(1, 1))
        rows.append(trainer.gradient(theta[g : g + 1], one, LocalLoss())[0])
    return torch.stack(rows)


@pytest.mark.parametrize("clip", [0.3, 1e6])
def test_a_gradient_is_the_weighted_sum_of_clipped_records(
    model: Model, theta: Tensor, batch: Batch, clip: float
) -> None:
    found = PrivateStep(model, batch, clip, silent(3)).gradient(theta)
    for g in range(3):
        records = own_gradients(model, theta, batch, g)
        cut = records * (clip / records.norm(dim=1).clamp(min=clip)).unsqueeze(1)
        torch.testing.assert_close(found[g], batch.weight[g] @ cut, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("clip", [0.05, 1e6])
def test_a_difference_is_clipped_record_by_record_as_a_whole(
    model: Model, theta: Tensor, batch: Batch, clip: float
) -> None:
    apart, direction = 0.02, torch.ones_like(theta) / 3
    ahead, behind = theta + apart / 2 * direction, theta - apart / 2 * direction
    found = PrivateStep(model, batch, clip, silent(3)).difference(ahead, behind, apart)
    for g in range(3):
        records = own_gradients(model, ahead, batch, g) - own_gradients(model, behind, batch, g)
        bound = clip * apart
        cut = records * (bound / records.norm(dim=1).clamp(min=bound)).unsqueeze(1)
        torch.testing.assert_close(found[g], batch.weight[g] @ cut, atol=1e-5, rtol=1e-2)


def test_norms_of_differences_keep_their_digits_when_points_are_close(
    model: Model, theta: Tensor, batch: Batch
) -> None:
    """Against the same in double precision; a difference of squared norms would have lost them."""
    near = theta * (1 + 1e-4)

    def norms(dtype: torch.dtype) -> Tensor:
        rows = Batch(batch.x.to(dtype), batch.y, batch.rows, batch.weight.to(dtype))
        points = [record_gradients(model, model.views(t.to(dtype)), rows, LocalLoss()) for t in (near, theta)]
        return squared_norms(differences(*points)).to(torch.float64)

    torch.testing.assert_close(norms(torch.float32), norms(torch.float64), rtol=0.02, atol=1e-12)


def test_a_step_answers_once(model: Model, theta: Tensor, batch: Batch) -> None:
    step = PrivateStep(model, batch, 1.0, silent(3))
    step.gradient(theta)
    with pytest.raises(RuntimeError, match="would not be paid for"):
        step.gradient(theta)
    with pytest.raises(RuntimeError, match="would not be paid for"):
        step.difference(theta, theta, 1.0)


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_noise_is_in_units_of_what_one_record_may_bring(model: Model, theta: Tensor, batch: Batch, unit: float) -> None:
    noise = [SiteNoise(2.0, KeyedRandomness(np.random.default_rng(g))) for g in range(3)]
    step = PrivateStep(model, batch, 1e-9, noise)
    answer = step.gradient(theta) if unit == 1 else step.difference(theta, theta, unit)
    assert float(answer.std()) == pytest.approx(2.0 * unit, rel=0.1)


def test_steps_along_private_gradients_are_private_training(
    model: Model, theta: Tensor, kind: str, event: Callable[..., Event]
) -> None:
    """Same payments and sources: the same batches, the same noise, the same weights."""
    sizes, shape = (9, 6, 4), {"mlp": (4,), "cnn": (2, 8, 8)}[kind]
    random = torch.Generator().manual_seed(1)
    x, y = torch.randn((19, *shape), generator=random), torch.randint(3, (19,), generator=random)
    shard = Shard(x, y, (0, 9, 15), sizes)
    events = [event(sample_rate=3 / size, steps=-(-size // 3) * 2) for size in sizes]

    def paid() -> list:
        return [Ledger("a", Budget(1e6, 1e-5)).charge([one])[0] for one in events]

    def sources() -> list[KeyedRandomness]:
        return [KeyedRandomness(np.random.default_rng(g)) for g in range(3)]

    about = paid(), sources(), model, 0.5, theta, shard, sizes, LocalLoss(), Pace(0.1)
    expected = next(epochs_privately(*about, 1))
    by_hand = theta.clone()
    for active, step in steps_privately(paid(), sources(), model, 0.5, shard, sizes):
        by_hand[:active] -= 0.1 * step.gradient(by_hand[:active])
    torch.testing.assert_close(by_hand, expected, atol=1e-4, rtol=1e-3)
