"""Clipped sums: against torch.func record by record, and against Opacus' hooks and ghost modes."""

from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.per_record import clipped, clipped_sum, record_gradients
from secure_sapefl.privacy.record_gradients import differences
from secure_sapefl.privacy.reference import Mode, OpacusSite
from secure_sapefl.sape.objective import Anchors, CosineAnchored
from secure_sapefl.training.objective import Batch, LocalLoss, Objective

CLIPS = [1e-3, 0.5, 1e3]  # every record clipped, some, none


@pytest.fixture(params=["plain", "anchored"])
def objective(request: pytest.FixtureRequest, model: Model, theta: Tensor, batch: Batch) -> Objective:
    if request.param == "plain":
        return LocalLoss()
    thetas = (theta.flip(0), theta[0])
    outputs = [model.outputs(one.expand_as(theta).contiguous(), batch.x) for one in thetas]
    anchors = Anchors.stacked(thetas, outputs, (torch.tensor([1.0, 0.0, 2.0]), torch.ones(3)))
    return CosineAnchored(anchors, 0.5, "flattened")


def site(batch: Batch, g: int, rows: slice = slice(None)) -> Batch:
    return Batch(*(part[g : g + 1, rows] for part in (batch.x, batch.y, batch.rows, batch.weight)))


def gradient(model: Model, theta: Tensor, record: Batch, objective: Objective) -> Tensor:
    """By autograd, of one record alone."""
    theta = theta.clone().requires_grad_()
    loss = objective.record_loss(model.apply(model.views(theta[None]), record.x), record)
    (slope,) = torch.autograd.grad(loss.sum(), theta)
    return slope


def flat(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.flatten(1) for part in parts], 1)


@pytest.mark.parametrize("clip", CLIPS)
def test_every_record_is_clipped_by_itself(
    model: Model, theta: Tensor, batch: Batch, objective: Objective, clip: float
) -> None:
    ours = flat(clipped_sum(model, model.views(theta), batch, objective, clip))
    for g in range(3):
        expected = torch.zeros_like(theta[g])
        for b in range(5):
            one = gradient(model, theta[g], site(batch, g, slice(b, b + 1)), objective.narrow(slice(g, g + 1)))
            expected += batch.weight[g, b] * one * min(1.0, clip / float(one.norm()))
        torch.testing.assert_close(ours[g], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("mode", get_args(Mode))
def test_opacus_finds_the_same_clipped_sums(
    model: Model, theta: Tensor, batch: Batch, objective: Objective, clip: float, mode: Mode
) -> None:
    ours = flat(clipped_sum(model, model.views(theta), batch, objective, clip))
    for g in (0, 2):  # Opacus knows no padding
        alone = OpacusSite(model, theta[g], mode, clip=clip, noise=0.0, expected_batch=5, lr=1.0)
        alone.step(site(batch, g), _WithoutPull(objective.narrow(slice(g, g + 1))))
        torch.testing.assert_close(theta[g] - alone.theta, ours[g], rtol=2e-3, atol=1e-6)


class _WithoutPull:
    """The records' part of an objective."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objective, name)

    def weight_pull(self, theta: Tensor) -> None:
        return None


def test_no_record_moves_the_sum_by_more_than_the_clip(model: Model, theta: Tensor, batch: Batch) -> None:
    """The sensitivity all accounting rests on, whatever the record holds."""
    weights, clip = model.views(theta), 0.5
    whole = Batch(batch.x, batch.y, batch.rows, torch.ones_like(batch.weight))
    for scale in (0.0, 1.0, 1e4):
        changed = Batch(batch.x.clone(), batch.y, batch.rows, whole.weight.clone())
        changed.x[:, 0] *= scale
        without = Batch(changed.x, batch.y, batch.rows, whole.weight.clone())
        without.weight[:, 0] = 0
        sums = [flat(clipped_sum(model, weights, one, LocalLoss(), clip)) for one in (changed, without)]
        assert ((sums[0] - sums[1]).norm(dim=1) <= clip * (1 + 1e-4)).all()


def test_an_empty_batch_has_gradient_zero(model: Model, theta: Tensor, batch: Batch) -> None:
    empty = Batch(batch.x, batch.y, batch.rows, torch.zeros_like(batch.weight))
    assert not flat(clipped_sum(model, model.views(theta), empty, LocalLoss(), 1.0)).any()


BAD = [float("nan"), float("inf"), 3e38]


def spoilt(batch: Batch, bad: float) -> tuple[Batch, Batch]:
    """With a second record of the first site that gives no number, and without that record."""
    x, weight = batch.x.clone(), batch.weight.clone()
    x[0, 1], weight[0, 1] = bad, 0
    return replace(batch, x=x), replace(batch, weight=weight)


@pytest.mark.parametrize("bad", BAD)
def test_a_record_that_gives_no_number_counts_as_nothing(
    model: Model, theta: Tensor, batch: Batch, objective: Objective, bad: float
) -> None:
    """Clipping alone would multiply 0 by infinity, and the whole sum would be none."""
    with_it, without = (clipped_sum(model, model.views(theta), b, objective, 0.5) for b in spoilt(batch, bad))
    torch.testing.assert_close(flat(with_it), flat(without))


@pytest.mark.parametrize("bad", BAD)
def test_nor_does_it_in_a_difference(model: Model, theta: Tensor, batch: Batch, bad: float) -> None:
    with_it, without = (
        clipped(differences(*(record_gradients(model, model.views(at), b, LocalLoss()) for at in (theta, 0.9 * theta))),
                b.weight, 0.5)
        for b in spoilt(batch, bad)
    )  # fmt: skip
    torch.testing.assert_close(flat(with_it), flat(without))


@pytest.mark.parametrize("mode", get_args(Mode))
def test_nor_in_the_reference(model: Model, theta: Tensor, batch: Batch, mode: Mode) -> None:
    with_it, _ = spoilt(batch, float("nan"))
    ours = flat(clipped_sum(model, model.views(theta), with_it, LocalLoss(), 0.5))
    alone = OpacusSite(model, theta[0], mode, clip=0.5, noise=0.0, expected_batch=5, lr=1.0)
    alone.step(site(with_it, 0), LocalLoss())
    torch.testing.assert_close(theta[0] - alone.theta, ours[0], rtol=2e-3, atol=1e-6)
