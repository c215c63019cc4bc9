from dataclasses import replace

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms import fedacs, local
from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.fedacs import FedAcsOptions, displacement_cosines, intermediate_models, neighbours
from secure_sapefl.algorithms.group import Peers
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Proximal


@pytest.fixture
def group(make_group, theta_initial):
    """Two sites that moved along axis 0 and axis 1, and received three models: along 0, between the two, opposite."""
    axes = torch.eye(theta_initial.numel())[:2]
    moves = torch.stack([axes[0], axes[0] + axes[1], -axes[0] - axes[1]])
    return make_group(
        state={"theta_personal": theta_initial + 0.5 * axes},
        peers=Peers(theta_initial + moves, torch.tensor([[True, True, True], [True, True, False]])),
    )


def test_similarities_are_cosines_of_displacements_cut_at_zero(group):
    similarity, between = displacement_cosines(group)
    half = 0.5**0.5
    torch.testing.assert_close(similarity, torch.tensor([[1, half, 0], [0, half, 0]]), atol=1e-5, rtol=0)
    torch.testing.assert_close(between, torch.tensor([[1, half, 0], [half, 1, 0], [0, 0, 1]]), atol=1e-5, rtol=0)


def test_the_threshold_is_the_mean_over_all_pairs_a_site_holds(group):
    """Site 0 holds four models, pairs 1 + h + 0 + h + 0 + 0, mean 0.40: the first two pass. Site 1 holds three, pairs
    0 + h + h, mean 0.47: only the second passes."""
    similarity, between = displacement_cosines(group)
    near = neighbours(similarity, between, group.peers.received)
    assert near.tolist() == [[True, True, False], [False, True, False]]


def test_the_intermediate_model_by_hand():
    own, models = torch.tensor([[0.0, 0.0], [5.0, 5.0]]), torch.tensor([[4.0, 0.0], [0.0, 4.0]])
    weights = torch.tensor([[1.0, 3.0], [0.0, 0.0]])
    u = intermediate_models(own, models, weights, 0.5)
    assert u.tolist() == [[0.5, 1.5], [5.0, 5.0]]


def test_training_starts_at_the_intermediate_model_and_is_held_there(group):
    similarity, between = displacement_cosines(group)
    weights = similarity * neighbours(similarity, between, group.peers.received)
    u = intermediate_models(group.state["theta_personal"], group.peers.models, weights, 0.3)
    expected = group.train(u, Proximal(u, torch.full((2,), 2.0)), Purpose.LOCAL_BATCHES)
    ours = fedacs.site_round(group, FedAcsOptions(mixing=0.3, strength=2.0))
    torch.testing.assert_close(ours.state["theta_personal"], expected)
    assert torch.equal(ours.shared, ours.state["theta_personal"])
    assert ours.update is None


@pytest.mark.parametrize("options", [FedAcsOptions(mixing=0, strength=0), FedAcsOptions(strength=0)])
def test_without_neighbours_or_influence_it_is_local_training(group, options):
    if options.mixing:
        group = replace(group, peers=Peers.nobody(2, group.theta_initial))
    ours, alone = fedacs.site_round(group, options), local.site_round(group, NoOptions())
    torch.testing.assert_close(ours.state["theta_personal"], alone.state["theta_personal"])


def test_sites_outside_the_cohort_are_peers_too(tiny_study):
    study = tiny_study("fedacs", participation=0.5, rounds=6)
    seen = []
    invite = study.server.open_round

    def recorded(round_index):
        seen.append(invite(round_index))
        return seen[-1]

    study.server.open_round = recorded
    study.run()
    cohorts = [{invitation.site for invitation in invitations} for invitations in seen]
    last = {peer for invitation in seen[-1] for peer in invitation.peers}
    assert last - cohorts[-1]
    assert last <= set().union(*cohorts[:-1])
    assert all(invitation.site not in invitation.peers for invitations in seen for invitation in invitations)


def test_it_sends_a_sealed_model_and_no_update(tiny_study):
    result = tiny_study("fedacs", protection="ckks").run()
    traffic = result.rounds[-1].traffic
    assert traffic.update == 0
    assert 4 * result.parameters <= traffic.up < 5 * result.parameters
    assert np.isfinite(result.accuracy.mean)


@pytest.mark.parametrize("values", [{"mixing": 1.1}, {"strength": -1}, {"rho": 0.5}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of fedacs"):
        FedAcsOptions.read(values, "options of fedacs")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("fedacs")
