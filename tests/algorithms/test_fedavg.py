"""FedAvg: one round of two sites by hand, weighed by their rows."""

import torch

from secure_sapefl.algorithms import fedavg
from secure_sapefl.algorithms.base import NoOptions, StudyFacts
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.streams import stream
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer
from tests.global_step import aggregate


def test_a_round_of_two_sites_by_hand(make_group):
    """All rows in one batch, weights 0: the gradient is the mean of (p - onehot) x.

    Site 0: x = 2 and 4, both class 0: W <- 0.1 * (1/2, -1/2) * 3 = (0.15, -0.15), b <- (0.05, -0.05)
    Site 1: x = 2, class 1:            W <- (-0.1, 0.1), b <- (-0.05, 0.05)
    Mean, 2 : 1 by rows:               W = (0.2/3, -0.2/3), b = (0.05/3, -0.05/3)
    """
    group = make_group(
        theta_global=torch.zeros(4),
        theta_initial=torch.zeros(4),
        state={},
        peers=Peers.nobody(2, torch.zeros(4)),
        shard=Shard(torch.tensor([[2.0], [4], [2]]), torch.tensor([0, 0, 1]), (0, 2), (2, 1)),
        trainer=BatchedTrainer(StackedModel((Linear(1, 2),), 2, 2)),
        streams=lambda purpose: [stream(0, purpose, site=c) for c in range(2)],
        local_epochs=1,
    )
    contribution = fedavg.site_round(group, NoOptions())
    expected = torch.tensor([[0.15, -0.15, 0.05, -0.05], [-0.1, 0.1, -0.05, 0.05]])
    torch.testing.assert_close(contribution.update, expected)
    assert contribution.score.tolist() == [2, 1]
    moved = aggregate(torch.zeros(4), contribution.update, contribution.score)
    torch.testing.assert_close(moved, torch.tensor([0.2, -0.2, 0.05, -0.05]) / 3)


def test_the_update_is_relative_to_the_global_model(make_group):
    group = make_group()
    contribution = fedavg.site_round(group, NoOptions())
    torch.testing.assert_close(group.theta_global + contribution.update, group.train_local())


def test_every_site_uses_the_global_model(make_group):
    group = make_group()
    assert torch.equal(fedavg.ALGORITHM.personal_models(group, NoOptions()), group.theta_global.repeat(2, 1))


def test_no_site_may_claim_more_rows_than_the_largest_declared():
    facts = StudyFacts(cohort=3, largest_site=50, peers_per_client=None)
    assert fedavg.ALGORITHM.score_bound(facts) == 50
