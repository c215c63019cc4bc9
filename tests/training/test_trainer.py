"""The batched engine against the sequential reference, and one step of both against arithmetic by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel
from secure_sapefl.sape.advice import Advised
from secure_sapefl.sape.objective import Anchors, CosineAnchored, ProximalAnchored
from secure_sapefl.training.objective import LocalLoss, Objective, Proximal
from secure_sapefl.training.plan import Plan, Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer, batches

CLASSES = 3
MLP = StackedModel((Linear(4, 6), Relu(), Linear(6, CLASSES)), CLASSES, 6)
CNN_LAYERS = (Convolution(2, 3), Relu(), Pool(), Convolution(3, 4), Relu(), Pool(), Flatten(), Linear(4, 5), Relu())
CNN = StackedModel((*CNN_LAYERS, Linear(5, CLASSES)), CLASSES, 48)
ROW_SHAPES = {"mlp": (4,), "cnn": (2, 4, 4)}
MODELS = {"mlp": MLP, "cnn": CNN}
SIZES = (11, 8, 8, 5, 1)  # with batches of 4: partial, whole, equal, partial, a single row
LR = 0.1


def shard(name: str) -> Shard:
    random = torch.Generator().manual_seed(5)
    x = torch.randn((sum(SIZES), *ROW_SHAPES[name]), generator=random)
    y = torch.randint(CLASSES, (sum(SIZES),), generator=random)
    starts = tuple(int(start) for start in np.cumsum((0, *SIZES))[:-1])
    return Shard(x, y, starts, SIZES)


def plan(epochs: int = 2) -> Plan:
    return plan_batches(SIZES, [np.random.default_rng(g) for g in range(len(SIZES))], epochs=epochs, batch_size=4)


def theta(model: Model, seed: int) -> Tensor:
    return torch.stack([model.initial(np.random.default_rng((seed, g))) for g in range(len(SIZES))])


def anchors(model: Model, rows: Shard) -> Anchors:
    """One anchor a site (absent at site 1), one for all."""
    peer, shared = theta(model, 1), theta(model, 2)[0]
    first, size = torch.tensor(rows.starts).unsqueeze(1), torch.tensor(SIZES).unsqueeze(1)
    x = rows.x[first + torch.arange(max(SIZES)) % size]
    outputs = [model.outputs(each, x) for each in (peer, shared.expand_as(peer))]
    strength = torch.linspace(0.5, 2, len(SIZES))
    absent = strength.clone()
    absent[1] = 0
    return Anchors.stacked((peer, shared), outputs, (absent, strength))


def objectives(model: Model, rows: Shard) -> dict[str, Objective]:
    both = anchors(model, rows)
    assert both.outputs is not None
    return {
        "local": LocalLoss(),
        "proximal": Proximal(theta(model, 3), torch.linspace(0, 1, len(SIZES))),
        "proximal-shared": Proximal(theta(model, 3)[0], torch.linspace(0, 1, len(SIZES))),
        "cosine-flattened": CosineAnchored(both, 0.5, "flattened"),
        "cosine-per-sample": CosineAnchored(both, 0.5, "per_sample"),
        "cosine-weights-only": CosineAnchored(both, 0.0, "flattened"),
        "cosine-outputs-only": CosineAnchored(both, 1.0, "flattened"),
        "proximal-anchored": ProximalAnchored(both),
        "advised": Advised(both.outputs[..., 0].softmax(-1), torch.linspace(0, 1, len(SIZES))),
    }


@pytest.mark.parametrize("name", ["mlp", "cnn"])
@pytest.mark.parametrize("objective", objectives(MLP, shard("mlp")))
@pytest.mark.parametrize("stack_models", [None, 1, 2, 100])
def test_both_engines_end_in_the_same_models(name: str, objective: str, stack_models: int | None) -> None:
    model, rows, start = MODELS[name], shard(name), theta(MODELS[name], 0)
    goal = objectives(model, rows)[objective]
    stack_bytes = None if stack_models is None else stack_models * 4 * model.parameters
    expected = SequentialTrainer(model).train(start, rows, plan(), goal, LR)
    got = BatchedTrainer(model, stack_bytes).train(start, rows, plan(), goal, LR)
    assert (expected - start).abs().amax(1).min() > 1e-3  # everybody moved
    torch.testing.assert_close(got, expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("trainer", [SequentialTrainer(MLP), BatchedTrainer(MLP), BatchedTrainer(MLP, 1)])
def test_training_leaves_its_inputs_alone(trainer: SequentialTrainer | BatchedTrainer) -> None:
    rows, start, steps = shard("mlp"), theta(MLP, 0), plan()
    copies = [tensor.clone() for tensor in (start, rows.x, rows.y, steps.rows, steps.weight)]
    trainer.train(start, rows, steps, objectives(MLP, rows)["cosine-flattened"], LR)
    for now, before in zip((start, rows.x, rows.y, steps.rows, steps.weight), copies, strict=True):
        assert torch.equal(now, before)
    assert not start.requires_grad


@pytest.mark.parametrize("trainer", [SequentialTrainer(MLP), BatchedTrainer(MLP)])
def test_one_model_for_all_need_not_be_copied_first(trainer: SequentialTrainer | BatchedTrainer) -> None:
    start = theta(MLP, 0)[0]
    everywhere = trainer.train(start.expand(len(SIZES), -1), shard("mlp"), plan(), LocalLoss(), LR)
    copied = trainer.train(start.repeat(len(SIZES), 1), shard("mlp"), plan(), LocalLoss(), LR)
    assert torch.equal(everywhere, copied)


@pytest.mark.parametrize("trainer", [SequentialTrainer(MLP), BatchedTrainer(MLP)])
def test_a_site_learns_nothing_from_its_neighbours(trainer: SequentialTrainer | BatchedTrainer) -> None:
    """Other sites' rows and weights may be anything, even NaN."""
    rows, start = shard("mlp"), theta(MLP, 0)
    expected = trainer.train(start, rows, plan(), LocalLoss(), LR)
    spoilt = start.clone()
    spoilt[2] = torch.nan
    got = trainer.train(spoilt, rows, plan(), LocalLoss(), LR)
    others = [0, 1, 3, 4]
    assert torch.isnan(got[2]).any()
    torch.testing.assert_close(got[others], expected[others], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("trainer_type", [SequentialTrainer, BatchedTrainer])
def test_one_linear_step_by_hand(trainer_type: type[SequentialTrainer] | type[BatchedTrainer]) -> None:
    """Zero weights answer 1/2 : 1/2, so d loss / d logits = p - onehot(0) = (-1/2, 1/2) on the one row x = 2.

    W <- 0 - 0.1 * (-1/2, 1/2) * 2 = (0.1, -0.1); b <- 0 - 0.1 * (-1/2, 1/2) = (0.05, -0.05)
    """
    model = StackedModel((Linear(1, 2),), 2, 2)
    rows = Shard(torch.tensor([[2.0]]), torch.tensor([0]), (0,), (1,))
    one = plan_batches([1], [np.random.default_rng(0)], epochs=1, batch_size=3)
    moved = trainer_type(model).train(torch.zeros(1, 4), rows, one, LocalLoss(), 0.1)
    torch.testing.assert_close(moved, torch.tensor([[0.1, -0.1, 0.05, -0.05]]))


@pytest.mark.parametrize("objective", objectives(MLP, shard("mlp")))
def test_both_engines_find_the_same_gradient(objective: str) -> None:
    rows, start = shard("mlp"), theta(MLP, 0)
    goal = objectives(MLP, rows)[objective]
    active, batch = next(batches(rows, plan()))
    assert active == len(SIZES)
    expected = SequentialTrainer(MLP).gradient(start, batch, goal)
    torch.testing.assert_close(BatchedTrainer(MLP).gradient(start, batch, goal), expected, atol=1e-6, rtol=1e-4)
