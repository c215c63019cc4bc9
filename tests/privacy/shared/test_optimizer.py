import pytest
import torch
from torch import Tensor

from secure_sapefl.config import Optimizer
from secure_sapefl.privacy.shared.optimizer import Descent, Iterate


def walked(optimizer: Optimizer, gradients: Tensor, lr: float = 0.1, steps: int | None = None) -> list[Iterate]:
    descent = Descent(optimizer=optimizer, lr=lr, steps=steps or len(gradients))
    found = [Iterate.first(torch.zeros(gradients.shape[1]), optimizer)]
    for gradient in gradients:
        found.append(descent.step(found[-1], gradient))
    return found


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_a_row_can_be_taken_apart_again(optimizer: Optimizer) -> None:
    now = walked(optimizer, torch.randn(5, 3))[-1]
    again = Iterate.from_row(now.row(), 3)
    assert again.steps == 5
    for name in ("mean", "theta", "momentum", "second"):
        assert torch.equal(getattr(again, name), getattr(now, name))
    assert torch.equal(now.row()[:3], now.mean)


def test_momentum_by_hand() -> None:
    """Gradients 1, 1, 1 with a rate of 1, 2/3, 1/3: velocities 1, 1.9, 2.71."""
    positions = [float(one.theta) for one in walked("momentum", torch.ones(3, 1), lr=1.0)]
    assert positions == pytest.approx([0, -1, -1 - 1.9 * 2 / 3, -1 - 1.9 * 2 / 3 - 2.71 / 3])


def test_it_walks_like_torch_s_momentum_at_a_constant_rate() -> None:
    gradients = torch.randn(6, 4)
    theta = torch.zeros(4, requires_grad=True)
    torchs = torch.optim.SGD([theta], lr=0.1, momentum=0.9)
    for taken, gradient in enumerate(gradients):
        torchs.param_groups[0]["lr"] = 0.1 * (1 - taken / 6)
        theta.grad = gradient.clone()
        torchs.step()
    assert torch.allclose(walked("momentum", gradients)[-1].theta, theta, atol=1e-6)


def test_it_walks_like_torch_s_adam() -> None:
    gradients = torch.randn(6, 4)
    theta = torch.zeros(4, requires_grad=True)
    torchs = torch.optim.Adam([theta], lr=0.1, betas=(0.9, 0.99))
    for taken, gradient in enumerate(gradients):
        torchs.param_groups[0]["lr"] = 0.1 * (1 - taken / 6)
        theta.grad = gradient.clone()
        torchs.step()
    assert torch.allclose(walked("adam", gradients)[-1].theta, theta, atol=1e-5)


def test_the_model_is_the_mean_over_the_second_half() -> None:
    found = walked("momentum", torch.randn(8, 2))
    assert torch.allclose(found[-1].mean, torch.stack([one.theta for one in found[5:]]).mean(0), atol=1e-6)
    assert torch.equal(found[3].mean, found[3].theta)


def test_steps_beyond_the_schedule_lead_nowhere() -> None:
    found = walked("momentum", torch.ones(4, 1), steps=2)
    assert found[-1].theta == found[2].theta
