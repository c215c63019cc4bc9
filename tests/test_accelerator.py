"""The make-believe accelerator refuses and counts as a card would."""

import pytest
import torch

from tests.accelerator import NAME, OnDevice, accelerator, counted

__all__ = ["accelerator"]


@pytest.fixture
def square(accelerator: str) -> torch.Tensor:
    return torch.arange(9.0).view(3, 3).to(accelerator)


def test_what_is_made_there_stays_there(square: torch.Tensor) -> None:
    made = (torch.zeros(3, device=NAME), torch.tensor([1, 2], device=NAME), square @ square, square.new_ones(2))
    assert all(isinstance(one, OnDevice) and one.device.type == NAME for one in made)
    assert (square @ square).cpu().tolist() == (square.cpu() @ square.cpu()).tolist()


def test_a_tensor_left_on_the_host_is_refused_and_a_number_is_not(square: torch.Tensor) -> None:
    with pytest.raises(RuntimeError, match="expected all of them on one device"):
        square + torch.ones(3, 3)
    assert (square + torch.tensor(1.0)).cpu()[0, 0] == 1


def test_views_share_memory_and_gradients_arrive(square: torch.Tensor) -> None:
    row = square[1].requires_grad_()
    (slope,) = torch.autograd.grad((row * row).sum(), row)
    with torch.no_grad():
        row.sub_(slope, alpha=0.5)  # v - 0.5 * 2 v
    assert square.detach().cpu()[1].tolist() == [0, 0, 0]
    assert square.detach().cpu()[2].tolist() == [6, 7, 8]


def test_copies_and_waits_are_counted(square: torch.Tensor) -> None:
    with counted() as quiet:
        (square * 2).sum()
    assert (quiet.operations, quiet.to_device, quiet.answers) == (2, 0, 0)
    with counted() as asked:
        square.cpu()
        square.sum().item()
        square[square > 4]
        square[torch.tensor([0, 2])]
        torch.tensor([1.0], device=NAME)
    assert (asked.to_host, asked.to_device) == (1, 2)
    assert dict(+asked.waits) == {"aten::_local_scalar_dense": 1, "aten::index.Tensor": 1}
