"""Local-only: one step by hand, and nothing sent."""

import torch

from secure_sapefl.algorithms import local
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.streams import stream
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer


def test_one_step_by_hand(make_group):
    """Zero weights answer 1/2 : 1/2; on x = 2 of class 0 the gradient is (-1/2, 1/2) * (2, 1).

    W <- (0.1, -0.1), b <- (0.05, -0.05). The global model, here far away, plays no part.
    """
    group = make_group(
        theta_global=torch.full((4,), 100.0),
        theta_initial=torch.zeros(4),
        state={"theta_personal": torch.zeros(1, 4)},
        peers=Peers.nobody(1, torch.zeros(4)),
        shard=Shard(torch.tensor([[2.0]]), torch.tensor([0]), (0,), (1,)),
        trainer=BatchedTrainer(StackedModel((Linear(1, 2),), 2, 2)),
        streams=lambda purpose: [stream(0, purpose)],
        local_epochs=1,
    )
    contribution = local.site_round(group, NoOptions())
    torch.testing.assert_close(contribution.state["theta_personal"], torch.tensor([[0.1, -0.1, 0.05, -0.05]]))
    assert (contribution.update, contribution.score, contribution.shared) == (None, None, None)


def test_the_model_in_use_is_the_one_kept(make_group):
    group = make_group()
    assert local.ALGORITHM.personal_models(group, NoOptions()) is group.state["theta_personal"]


def test_rounds_add_up(make_group):
    """What a site kept is where its next round begins, whatever the others do."""
    group = make_group()
    first = local.site_round(group, NoOptions()).state
    second = local.site_round(make_group(state=first, theta_global=group.theta_global + 5), NoOptions()).state
    again = group.train(first["theta_personal"], local.LocalLoss(), local.Purpose.LOCAL_BATCHES)
    assert torch.equal(second["theta_personal"], again)
