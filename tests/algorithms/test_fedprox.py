import pytest
import torch

from secure_sapefl.algorithms import fedavg, fedprox
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.fedprox import FedProxOptions
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Proximal


class Leash(Proximal):
    """The proximal term alone: no data, no loss."""

    def loss(self, logits, batch):
        return 0 * logits.sum((1, 2))


def test_without_loss_a_step_contracts_the_distance_by_one_minus_lr_mu(make_group):
    group = make_group(batch_size=7)
    start = group.everywhere(group.theta_global) + 1
    objective = Leash(group.theta_global, torch.full((2,), 0.5))
    end = group.train(start, objective, Purpose.LOCAL_BATCHES, epochs=1)
    torch.testing.assert_close(end - group.theta_global, torch.full_like(end, 1 - 0.1 * 0.5))


def test_mu_zero_is_fedavg(make_group):
    group = make_group()
    ours = fedprox.site_round(group, FedProxOptions(mu=0))
    torch.testing.assert_close(ours.update, fedavg.site_round(group, NoOptions()).update)


def test_the_leash_shortens_the_update_and_rows_weigh_it(make_group):
    group = make_group()
    loose, tight = (fedprox.site_round(group, FedProxOptions(mu=mu)) for mu in (0.0, 2.0))
    assert (tight.update.norm(dim=1) < loose.update.norm(dim=1)).all()
    assert tight.score.tolist() == [7, 4]


def test_every_site_uses_the_global_model(make_group):
    group = make_group()
    models = fedprox.ALGORITHM.personal_models(group, FedProxOptions())
    assert torch.equal(models, group.theta_global.repeat(2, 1))


@pytest.mark.parametrize("values", [{"mu": -0.1}, {"mu": float("nan")}, {"mue": 1}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of fedprox"):
        FedProxOptions.read(values, "options of fedprox")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("fedprox")
