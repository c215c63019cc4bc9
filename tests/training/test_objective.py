"""Plain and proximal training objectives, and the form their data-free gradient takes."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from secure_sapefl.training.objective import Batch, LocalLoss, Proximal, Pull, mean_loss

quick = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def test_the_loss_is_a_weighted_mean_a_site() -> None:
    """Logits (0, 0) cost log 2 whatever the label; (log 3, 0) with label 0 costs log(4/3)."""
    logits = torch.tensor([[[0.0, 0], [0, 0]], [[math.log(3), 0], [9, -9]]])
    batch = Batch(
        x=torch.zeros(2, 2, 1),
        y=torch.tensor([[0, 1], [0, 1]]),
        rows=torch.zeros(2, 2, dtype=torch.int64),
        weight=torch.tensor([[0.5, 0.5], [1, 0]]),
    )
    torch.testing.assert_close(mean_loss(logits, batch), torch.tensor([math.log(2), math.log(4 / 3)]))


def test_local_loss_has_no_penalty() -> None:
    objective = LocalLoss()
    theta = torch.ones(2, 3)
    assert objective.weight_penalty(theta) is None
    assert objective.weight_pull(theta) is None
    assert objective.narrow(slice(0, 1)) is objective


def test_proximal_by_hand() -> None:
    """3/2 * |(1, 2) - (0, 4)|^2 = 7.5, pulled by 3 * (1, -2)."""
    objective = Proximal(torch.tensor([0.0, 4]), torch.tensor([3.0]))
    theta = torch.tensor([[1.0, 2]])
    penalty, pull = objective.weight_penalty(theta), objective.weight_pull(theta)
    assert penalty is not None
    assert pull is not None
    assert penalty.tolist() == [7.5]
    assert pull.dense(theta).tolist() == [[3, -6]]


@given(seeds, st.booleans())
@quick
def test_proximal_pull_is_the_gradient_of_its_penalty(seed: int, shared: bool) -> None:
    random = torch.Generator().manual_seed(seed)
    theta = torch.randn((3, 5), generator=random, dtype=torch.float64).requires_grad_()
    anchor = torch.randn((5,) if shared else (3, 5), generator=random, dtype=torch.float64)
    objective = Proximal(anchor, torch.rand(3, generator=random, dtype=torch.float64))
    penalty, pull = objective.weight_penalty(theta), objective.weight_pull(theta)
    assert penalty is not None
    assert pull is not None
    (expected,) = torch.autograd.grad(penalty.sum(), theta)
    torch.testing.assert_close(pull.dense(theta.detach()), expected)
    narrow = objective.narrow(slice(1, 3)).weight_pull(theta[1:])
    assert narrow is not None
    torch.testing.assert_close(narrow.dense(theta.detach()[1:]), expected[1:])


@given(seeds, st.floats(0, 1))
@quick
def test_a_pull_steps_along_its_dense_gradient(seed: int, lr: float) -> None:
    random = torch.Generator().manual_seed(seed)
    theta, anchor = torch.randn((2, 3, 4), generator=random, dtype=torch.float64)
    own, first, second = torch.randn((3, 3), generator=random, dtype=torch.float64)
    two = Pull(own, torch.stack([first, second], 1), (anchor, anchor[:1].expand(3, 4)))
    one = Pull(own, first.unsqueeze(1), (anchor,))
    for pull in (two, one):
        stepped = theta.clone()
        pull.step_(stepped, lr)
        torch.testing.assert_close(stepped, theta - lr * pull.dense(theta))
