"""The trap: a penalty that reads no record is lost in stock Opacus. Ours acts, in full, after clipping and noise.

Two weights, one class: the cross-entropy is 0 whatever the weights, so there is no learning signal and one step is the
anchor's pull alone.
"""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.privacy.reference import Mode, OpacusSite
from secure_sapefl.privacy.trainer import PrivateTrainer, SiteNoise
from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.training.objective import Batch, Objective, Proximal
from secure_sapefl.training.plan import Plan, Shard

MODEL = StackedModel((Linear(1, 1),), classes=1, widest=1)
START, ANCHOR, LR, RECORDS = torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0]]), 0.5, 4

ANCHORS = Anchors.stacked((ANCHOR,), (), (torch.ones(1),))
HALF = Anchors.stacked((ANCHOR,), (), (torch.full((1,), 0.5),))
# cosine: d(1 - cos) = -((1, 0) / 5 - 3/5 (3, 4) / 25) = (-0.128, 0.096); proximal: d(1/2 |theta - a|^2) = (2, 4)
CASES = {
    "cosine": (CosineAnchored(ANCHORS, 0.0, "per_sample"), torch.tensor([3.064, 3.952])),
    "proximal": (ProximalAnchored(HALF), torch.tensor([2.0, 2.0])),
    "ditto": (Proximal(ANCHOR, torch.ones(1)), torch.tensor([2.0, 2.0])),
}
MODES = [mode for mode in get_args(Mode) if mode != "functorch"]


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> tuple[Objective, Tensor]:
    return CASES[request.param]


@pytest.fixture
def batch() -> Batch:
    x = torch.arange(1.0, RECORDS + 1).view(1, RECORDS, 1)
    zeros = torch.zeros((1, RECORDS), dtype=torch.int64)
    return Batch(x, zeros, torch.arange(RECORDS)[None], torch.full((1, RECORDS), 1 / RECORDS))


class NaiveSite(OpacusSite):
    def step(self, batch: Batch, objective: Objective) -> None:
        """As one would write it without knowing: the penalty is backpropagated with the rest."""
        self._backward(batch, objective)
        penalty = objective.weight_penalty(parameters_to_vector(self._weights)[None])
        assert penalty is not None
        penalty.sum().backward()
        self._optimizer.step()


def opacus(mode: Mode, kind: type[OpacusSite] = OpacusSite) -> OpacusSite:
    return kind(MODEL, START[0], mode, clip=1.0, noise=0.0, expected_batch=RECORDS, lr=LR)


def trained(batch: Batch, objective: Objective, deviation: float = 0.0) -> Tensor:
    noise = SiteNoise(deviation, KeyedRandomness(np.random.default_rng(0)))
    shard = Shard(batch.x[0], batch.y[0], (0,), (RECORDS,))
    plan = Plan(batch.rows[None], batch.weight[None], (1,))
    return PrivateTrainer(MODEL, 1.0, (noise,)).train(START, shard, plan, objective, LR)[0]


def test_our_step_is_the_hand_computed_anchor_step(batch: Batch, case: tuple[Objective, Tensor]) -> None:
    objective, expected = case
    torch.testing.assert_close(trained(batch, objective), expected)


def test_and_so_is_the_reference_s(batch: Batch, case: tuple[Objective, Tensor]) -> None:
    objective, expected = case
    for mode in MODES:
        site = opacus(mode)
        site.step(batch, objective)
        torch.testing.assert_close(site.theta, expected)


def test_noise_is_added_beside_the_pull_not_instead_of_it(batch: Batch, case: tuple[Objective, Tensor]) -> None:
    objective, expected = case
    noise = torch.empty(2)
    KeyedRandomness(np.random.default_rng(0)).normal_(noise)
    torch.testing.assert_close(trained(batch, objective, deviation=0.1), expected - LR * 0.1 * noise)


def test_the_naive_way_through_hooks_loses_the_pull(batch: Batch, case: tuple[Objective, Tensor]) -> None:
    site = opacus("hooks", NaiveSite)
    site.step(batch, case[0])
    torch.testing.assert_close(site.theta, START[0])


def test_the_naive_way_through_ghost_clipping_divides_it_by_the_batch(
    batch: Batch, case: tuple[Objective, Tensor]
) -> None:
    site = opacus("ghost", NaiveSite)
    site.step(batch, case[0])
    torch.testing.assert_close(site.theta, START[0] + (case[1] - START[0]) / RECORDS)
