from dataclasses import replace

import pytest
import torch

from secure_sapefl.algorithms import fedafk, fedavg
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.fedafk import FedAfkOptions, mixed_bodies, trained_head
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


@pytest.fixture
def make(make_group, theta_initial):
    """Personal models that have left the global one, with a mixing coefficient of choice."""
    drift = torch.linspace(-0.2, 0.2, theta_initial.numel())
    personal = torch.stack([theta_initial + drift, theta_initial - drift])

    def group(mixing, **changes):
        return make_group(state={"theta_personal": personal, "mixing": torch.full((2,), mixing)}, **changes)

    return group


def test_one_step_by_hand(make):
    """All four lines of the round, written out site by site, on one full batch."""
    group, options = make(0.8, batch_size=7, local_epochs=1), FedAfkOptions(transfer=0.3, mixing_lr=0.5)
    (_, batch), split = next(group.steps(Purpose.LOCAL_BATCHES)), group.trainer.model.head_start
    start = group.everywhere(group.theta_global)
    p = group.state["theta_personal"]
    grad_g, grad_p = (group.trainer.gradient(theta, batch, LocalLoss()) for theta in (start, p))
    g, body, mixing = mixed_bodies(group, options)
    for c in range(2):
        phi_g = (start - 0.1 * grad_g)[c, :split]
        step = 0.7 * grad_p[c, :split] + 0.3 * 2 * (p[c, :split] - phi_g)
        phi_p = p[c, :split] - 0.1 * step
        slope = (phi_p - phi_g) @ (0.8 * step + 0.2 * grad_g[c, :split]) + 0.02 * 0.8
        m = (0.8 - 0.5 * slope).clamp(0, 1)
        assert mixing[c].item() == pytest.approx(m.item(), rel=1e-4)
        torch.testing.assert_close(body[c], m * phi_p + (1 - m) * phi_g)
        torch.testing.assert_close(g[c, :split], phi_g)


def test_without_own_share_the_body_is_the_global_one(make):
    g, body, mixing = mixed_bodies(make(0.0), FedAfkOptions(mixing_lr=0))
    torch.testing.assert_close(body, g[:, : body.shape[1]])
    assert mixing.tolist() == [0, 0]


def test_with_its_own_share_alone_and_no_transfer_the_body_trains_under_a_frozen_head(make):
    group = make(1.0)
    theta, split = group.state["theta_personal"].clone(), group.trainer.model.head_start
    for active, batch in group.steps(Purpose.LOCAL_BATCHES):
        theta[:active, :split] -= 0.1 * group.trainer.gradient(theta[:active], batch, LocalLoss())[:, :split]
    _, body, _ = mixed_bodies(group, FedAfkOptions(mixing_lr=0, transfer=0))
    torch.testing.assert_close(body, theta[:, :split])


def test_the_head_trains_on_a_frozen_body(make):
    group = make(0.5)
    theta, split = group.state["theta_personal"].clone(), group.trainer.model.head_start
    for active, batch in group.steps(Purpose.PERSONAL_BATCHES):
        theta[:active, split:] -= 0.1 * group.trainer.gradient(theta[:active], batch, LocalLoss())[:, split:]
    torch.testing.assert_close(trained_head(group, theta[:, :split]), theta[:, split:])


def test_what_is_uploaded_is_fedavg_and_the_old_state_stays_untouched(make):
    group = make(0.5)
    before = {name: value.clone() for name, value in group.state.items()}
    ours, reference = fedafk.site_round(group, FedAfkOptions()), fedavg.site_round(group, NoOptions())
    torch.testing.assert_close(ours.update, reference.update)
    assert torch.equal(ours.score, reference.score)
    torch.testing.assert_close(dict(group.state), before)


def test_the_mixing_coefficient_never_leaves_the_unit_interval(make):
    for mixing in (0.0, 1.0):
        group = replace(make(mixing), local_epochs=5)
        _, _, after = mixed_bodies(group, FedAfkOptions(mixing_lr=100))
        assert ((after >= 0) & (after <= 1)).all()


@pytest.mark.parametrize("values", [{"transfer": 1.5}, {"mixing_lr": -1}, {"mu": 0.5}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of fedafk"):
        FedAfkOptions.read(values, "options of fedafk")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("fedafk")
