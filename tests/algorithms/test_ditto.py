from dataclasses import replace

import pytest
import torch

from secure_sapefl.algorithms import ditto, fedavg, local
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.ditto import DittoOptions
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


@pytest.fixture
def group(make_group, theta_initial):
    """Personal models that have left the global one."""
    drift = torch.linspace(-0.2, 0.2, theta_initial.numel())
    return make_group(state={"theta_personal": torch.stack([theta_initial + drift, theta_initial - drift])})


def test_strength_zero_is_local_training(group):
    ours = ditto.site_round(group, DittoOptions(strength=0))
    alone = local.site_round(group, NoOptions())
    torch.testing.assert_close(ours.state["theta_personal"], alone.state["theta_personal"])


@pytest.mark.parametrize("strength", [0.0, 1.0, 3.0])
def test_the_global_model_is_fedavg_whatever_the_strength(group, strength):
    ours, reference = ditto.site_round(group, DittoOptions(strength=strength)), fedavg.site_round(group, NoOptions())
    assert torch.equal(ours.update, reference.update)
    assert torch.equal(ours.score, reference.score)


def test_the_anchor_is_the_received_global_model_not_the_trained_one(group):
    """With 1 - lr * lambda = 0 a step forgets v_c and ends one gradient away from the anchor; two full-batch steps."""
    group = replace(group, batch_size=7)
    expected = group.state["theta_personal"]
    for _, batch in group.steps(Purpose.LOCAL_BATCHES):
        expected = group.theta_global - 0.1 * group.trainer.gradient(expected, batch, LocalLoss())
    ours = ditto.site_round(group, DittoOptions(strength=10.0))  # lr 0.1
    torch.testing.assert_close(ours.state["theta_personal"], expected)


def test_one_step_by_hand(make_group, theta_initial):
    """v - eta (grad L(v) + lambda (v - theta_G)), with the full batch as the only step."""
    personal = (theta_initial + 0.1).repeat(2, 1)
    group = make_group(state={"theta_personal": personal}, batch_size=7, local_epochs=1)
    plain = local.site_round(group, NoOptions()).state["theta_personal"]
    ours = ditto.site_round(group, DittoOptions(strength=2.0)).state["theta_personal"]
    torch.testing.assert_close(ours, plain - 0.1 * 2.0 * (personal - theta_initial))


@pytest.mark.parametrize("values", [{"strength": -1}, {"lambda": 1}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of ditto"):
        DittoOptions.read(values, "options of ditto")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("ditto")
