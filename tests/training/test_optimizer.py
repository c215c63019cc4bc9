"""Steps of a stack are torch's own, site by site, whatever the optimizer; what it remembers can be cut and kept."""

from typing import Any

import pytest
import torch
from torch import Tensor

from secure_sapefl.training.optimizer import PLAIN, Moments, Stepper, StepRule

RULES: list[tuple[StepRule, Any, dict[str, Any]]] = [
    (StepRule(momentum=0.9), torch.optim.SGD, {"momentum": 0.9}),
    (StepRule(weight_decay=0.3), torch.optim.SGD, {"weight_decay": 0.3}),
    (StepRule(momentum=0.5, weight_decay=0.1, max_norm=0.7), torch.optim.SGD, {"momentum": 0.5, "weight_decay": 0.1}),
    (StepRule(name="adam"), torch.optim.Adam, {}),
    (StepRule(name="adam", weight_decay=0.2), torch.optim.Adam, {"weight_decay": 0.2}),
    (StepRule(name="adamw", weight_decay=0.2, max_norm=0.5), torch.optim.AdamW, {"weight_decay": 0.2}),
]


def gradients(count: int, sites: int = 3) -> Tensor:
    return torch.randn((count, sites, 5), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("rule", "kind", "arguments"), RULES)
def test_steps_are_torchs_own(rule: StepRule, kind: Any, arguments: dict[str, Any]) -> None:
    start = torch.randn((3, 5), generator=torch.Generator().manual_seed(1))
    theta, stepper = start.clone(), rule.begun(start)
    assert stepper is not None
    for gradient in gradients(6):
        stepper.step_(theta, gradient, 0.1)
    for site in range(3):
        weight = torch.nn.Parameter(start[site].clone())
        optimizer = kind([weight], lr=0.1, **arguments)
        for gradient in gradients(6)[:, site]:
            weight.grad = gradient.clone()
            if rule.max_norm is not None:
                torch.nn.utils.clip_grad_norm_([weight], rule.max_norm)
            optimizer.step()
        torch.testing.assert_close(theta[site], weight.data, atol=1e-5, rtol=1e-4)


def test_plain_steps_need_no_stepper() -> None:
    assert PLAIN.begun(torch.zeros(2, 3)) is None
    assert not StepRule(momentum=0.1).is_plain
    assert StepRule(momentum=0.0).is_plain


def test_sites_that_are_done_keep_what_they_remember() -> None:
    moments = Moments.none_yet(torch.zeros(3, 5))
    stepper, theta = Stepper(StepRule(name="adam"), moments), torch.zeros(3, 5)
    stepper.step_(theta, gradients(1)[0], 0.1)
    stepper.narrow(slice(0, 1)).step_(theta[:1], gradients(1)[0][:1], 0.1)
    assert moments.steps.tolist() == [2, 1, 1]


def test_a_long_gradient_is_cut_and_a_short_one_is_not() -> None:
    theta, stepper = torch.zeros(2, 2), StepRule(max_norm=1.0).begun(torch.zeros(2, 2))
    assert stepper is not None
    stepper.step_(theta, torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    torch.testing.assert_close(theta, -torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
