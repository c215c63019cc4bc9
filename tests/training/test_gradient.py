"""`Trainer.gradient`, `batches` and body/head models: what methods with steps of their own are built from."""

import numpy as np
import pytest
import torch

from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import Convolution, Flatten, Linear, Pool, Relu, StackedModel
from secure_sapefl.training.objective import LocalLoss, Proximal
from secure_sapefl.training.plan import Shard, plan_batches
from secure_sapefl.training.trainer import BatchedTrainer, SequentialTrainer, batches

MLP = StackedModel((Linear(4, 5), Relu(), Linear(5, 3)), classes=3, widest=5)
CNN = StackedModel(
    (Convolution(1, 2), Relu(), Pool(), Flatten(), Linear(8, 4), Relu(), Linear(4, 3)), classes=3, widest=32
)
SIZES = (7, 4)


def case(model: Model, shape: tuple[int, ...]):
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.normal(size=(11, *shape)).astype(np.float32))
    shard = Shard(x, torch.from_numpy(rng.integers(3, size=11)), (0, 7), SIZES)
    theta = torch.stack([model.initial(rng), model.initial(rng)])
    plan = plan_batches(SIZES, [np.random.default_rng(g) for g in range(2)], epochs=2, batch_size=3)
    return shard, theta, plan


@pytest.mark.parametrize(("model", "shape"), [(MLP, (4,)), (CNN, (1, 4, 4))], ids=["mlp", "cnn"])
@pytest.mark.parametrize("kind", [BatchedTrainer, SequentialTrainer])
def test_steps_along_the_gradient_are_training(kind, model, shape):
    """Steps written out with `gradient` end where `train` ends, in both trainers, penalty and short sites included."""
    shard, theta, plan = case(model, shape)
    objective = Proximal(torch.zeros(model.parameters), torch.tensor([0.5, 0.2]))
    by_hand = theta.clone()
    for active, batch in batches(shard, plan):
        now = by_hand[:active]
        by_hand[:active] = now - 0.1 * kind(model).gradient(now, batch, objective.narrow(slice(0, active)))
    reference = SequentialTrainer(model).train(theta, shard, plan, objective, 0.1)
    torch.testing.assert_close(by_hand, reference, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [BatchedTrainer, SequentialTrainer])
def test_the_gradient_of_a_linear_model_by_hand(kind):
    """Softmax regression at zero weights: d/db = 1/K - share of the label, d/dW = that times x."""
    model = StackedModel((Linear(1, 2),), classes=2, widest=1)
    shard = Shard(torch.tensor([[2.0], [4.0]]), torch.tensor([0, 1]), (0,), (2,))
    plan = plan_batches((2,), [np.random.default_rng(0)], epochs=1, batch_size=2)
    ((active, batch),) = batches(shard, plan)
    gradient = kind(model).gradient(torch.zeros(1, 4), batch, LocalLoss())
    assert active == 1
    torch.testing.assert_close(gradient, torch.tensor([[0.5, -0.5, 0.0, 0.0]]))


def test_gradient_leaves_the_weights_alone():
    shard, theta, plan = case(MLP, (4,))
    before = theta.clone()
    _, batch = next(batches(shard, plan))
    BatchedTrainer(MLP).gradient(theta, batch, LocalLoss())
    assert torch.equal(theta, before)
    assert not theta.requires_grad


@pytest.mark.parametrize("kind", [BatchedTrainer, SequentialTrainer])
def test_a_trainer_of_the_head_trains_the_head(kind):
    trainer = kind(MLP).for_model(MLP.head)
    assert isinstance(trainer, kind)
    assert trainer.model == MLP.head
