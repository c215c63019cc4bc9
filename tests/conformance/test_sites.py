"""The four sites themselves: what the checks rely on."""

import torch

from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.algorithms.sapefl import ALGORITHM as SAPEFL
from secure_sapefl.conformance.sites import FourSites, leaving, tensors


def test_a_seed_decides_about_records_and_nothing_else() -> None:
    ours, theirs = FourSites(), FourSites(seed=12)
    assert not torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.models, theirs.models)
    assert torch.equal(ours.theta_global, theirs.theta_global)


def test_nobody_receives_their_own_model_and_somebody_misses_one() -> None:
    received = FourSites().received
    assert not received[range(4), range(4)].any()
    assert received.sum(1).tolist() == [4, 3, 4, 4]


def test_a_group_is_some_of_the_sites_in_their_order() -> None:
    sites = FourSites()
    group = sites.ready(SAPEFL, (2, 0))
    assert group.shard.sizes == (5, 9)
    assert torch.equal(group.state["theta_personal"], sites.models[[2, 0]])
    assert torch.equal(group.peers.received, sites.received[[2, 0]])


def test_what_leaves_has_the_names_of_messages() -> None:
    contribution = FourSites().round(SAPEFL)
    assert leaving(contribution).keys() == {"update", "similarity_score", "theta_personal"}
    assert tensors(contribution).keys() == {*leaving(contribution), "state.theta_personal"}
    assert leaving(FourSites().round(FEDAVG)).keys() == {"update", "similarity_score"}
