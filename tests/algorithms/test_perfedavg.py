from dataclasses import replace

import pytest
import torch

from secure_sapefl.algorithms import perfedavg
from secure_sapefl.algorithms.perfedavg import PerFedAvgOptions, adapted, full_gradient, meta_gradient
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.steps import PlainStep


class Quadratic:
    """A trainer whose loss is theta' H theta / 2 on any batch: gradient H theta, Hessian H = diag(1, 3)."""

    hessian = torch.tensor([1.0, 3.0])

    def gradient(self, theta, batch, objective):
        return self.hessian * theta


@pytest.mark.parametrize(
    ("batches", "expected"),
    [(2, [0.9, 0.7 * 3 * 2]), (3, [0.9 * 0.9, 0.7 * 0.7 * 3 * 2])],
    ids=["first", "hessian-free"],
)
def test_both_orders_on_a_quadratic_by_hand(batches, expected):
    """FO: H (1 - alpha H) w. HF adds the Hessian of the outer step: (1 - alpha H) H (1 - alpha H) w."""
    steps = batches * [PlainStep(Quadratic(), None)]
    v = meta_gradient(torch.tensor([[1.0, 2.0]]), steps, PerFedAvgOptions(inner_lr=0.1))
    torch.testing.assert_close(v, torch.tensor([expected]), atol=1e-3, rtol=1e-3)


def test_the_probe_is_around_the_weights_themselves_not_around_the_adapted_ones():
    """L = w^3 / 3 at w = 1: v = (1 - 0.1)^2 = 0.81, the Hessian at w is 2, so v - alpha * 2 v = 0.648."""

    class Cubic:
        def gradient(self, theta, batch, objective):
            return theta**2

    v = meta_gradient(torch.ones(1, 1), 3 * [PlainStep(Cubic(), None)], PerFedAvgOptions(inner_lr=0.1))
    assert v.item() == pytest.approx(0.648, abs=1e-4)


def test_the_full_gradient_is_that_of_one_batch_with_every_row(make_group):
    group = make_group()
    theta = group.everywhere(group.theta_global)
    _, everything = next(replace(group, batch_size=7).steps(Purpose.LOCAL_BATCHES, 1))
    expected = group.trainer.gradient(theta, everything, LocalLoss())
    torch.testing.assert_close(full_gradient(group, theta), expected)


def test_a_site_uses_the_model_one_step_on(make_group):
    group = make_group()
    theta = group.everywhere(group.theta_global)
    one = theta - 0.2 * full_gradient(group, theta)
    two = one - 0.2 * full_gradient(group, one)
    torch.testing.assert_close(adapted(group, PerFedAvgOptions(inner_lr=0.2)), one)
    torch.testing.assert_close(adapted(group, PerFedAvgOptions(inner_lr=0.2, adaptation_steps=2)), two)


def test_a_vanishing_inner_step_is_training_on_the_second_batches(make_group):
    group = make_group()
    ours = perfedavg.site_round(group, PerFedAvgOptions(inner_lr=1e-9))
    plain = group.train(group.everywhere(group.theta_global), LocalLoss(), Purpose.META_BATCHES)
    torch.testing.assert_close(ours.update, plain - group.theta_global)
    assert ours.score.tolist() == [1, 1]


def test_the_outer_rate_is_the_study_s_unless_given(make_group):
    group = make_group()
    default, same, half = (
        perfedavg.site_round(group, PerFedAvgOptions(outer_lr=rate)).update for rate in (None, 0.1, 0.05)
    )
    assert torch.equal(default, same)
    assert not torch.allclose(default, half)


@pytest.mark.parametrize("values", [{"order": "second"}, {"inner_lr": 0}, {"probe": -1}, {"adaptation_steps": 0}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of perfedavg"):
        PerFedAvgOptions.read(values, "options of perfedavg")


@pytest.mark.parametrize("order", ["first", "hessian-free"])
def test_encrypted_equals_plaintext(assert_twins, order):
    assert_twins("perfedavg", options={"order": order})
