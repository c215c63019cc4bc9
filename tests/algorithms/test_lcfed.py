from dataclasses import replace

import numpy as np
import pytest
import torch

from secure_sapefl.algorithms import lcfed
from secure_sapefl.algorithms.lcfed import LcFedOptions, bids, global_step, initial_global, leashes
from secure_sapefl.config import Config
from secure_sapefl.data import Rows
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss
from tests.global_step import aggregate

TWO = LcFedOptions(clusters=2)


@pytest.fixture
def make(make_group, theta_initial):
    """Two clusters whose centres lie on either side of the mean model; one site in each, or none yet."""
    axis = torch.linspace(-0.2, 0.2, theta_initial.numel())
    centres = torch.stack([theta_initial + axis, theta_initial - axis])

    def group(cluster=(0, 1), made=2, **changes):
        known = torch.where((torch.arange(2) < made).unsqueeze(1), centres, theta_initial)
        return make_group(
            theta_global=torch.cat([known.mean(0) if made else theta_initial, known.flatten()]),
            state={"theta_personal": theta_initial + 0.1 * torch.stack([axis, axis]), "cluster": torch.tensor(cluster)},
            **changes,
        )

    return group


def summed(group, result, options):
    """What sites make of the server's weighted mean."""
    return global_step(group.theta_global, aggregate(torch.zeros(()), result.update, result.score), options)


def test_the_global_step_by_hand():
    """P = 2, K = 2: two sites (weights 1 and 3) in cluster 0 with updates (4, 0) and (0, 4), none in cluster 1."""
    common = torch.tensor([9.0, 9, 1, 1, 5, 5])
    mean = torch.tensor([1.0, 0, 1 / 4 * 4, 3 / 4 * 4, 0, 0])
    assert global_step(common, mean, TWO).tolist() == [2, 4, 2, 4, 5, 5]


def test_one_cluster_is_the_mean_of_all_models(make_group):
    one = LcFedOptions(clusters=1)
    group = make_group()
    state = dict(group.state) | {"cluster": torch.tensor([0, 0])}
    group = replace(group, theta_global=initial_global(group.theta_initial + 0.1, one), state=state)
    result = lcfed.site_round(group, one)
    mean = (torch.tensor([7.0, 4.0]) / 11) @ result.state["theta_personal"]
    torch.testing.assert_close(summed(group, result, one), mean.repeat(2))


def test_each_centre_becomes_the_mean_of_its_members(make):
    group = make()
    result = lcfed.site_round(group, TWO)
    cluster, theta = result.state["cluster"], result.state["theta_personal"]
    assert cluster.tolist() == [0, 1]
    mean_model, *centres = summed(group, result, TWO).view(3, -1)
    torch.testing.assert_close(torch.stack(centres), theta)
    torch.testing.assert_close(mean_model, (7 * theta[0] + 4 * theta[1]) / 11)


def test_both_pulls_by_hand(make):
    """One step without a loss: (1 - eta (mu + lambda)) on bodies, (1 - eta mu) on heads, towards the anchors."""
    group = make()
    options = LcFedOptions(clusters=2, cluster_pull=2.0, body_pull=1.0)
    common, split = group.theta_global.view(3, -1), group.trainer.model.head_start
    objective = leashes(group, common[0], common[1:], options)
    theta = group.state["theta_personal"]
    gradient = 2 * (theta - common[1:])
    gradient[:, :split] += theta[:, :split] - common[0, :split]
    torch.testing.assert_close(objective.weight_pull(theta).dense(theta), gradient)
    moving = theta.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(objective.weight_penalty(moving).sum(), moving)[0], gradient)


@pytest.mark.parametrize("start", ["own", "centre"])
def test_without_pulls_it_is_local_training_from_the_chosen_start(make, start):
    group = make()
    options = LcFedOptions(clusters=2, cluster_pull=0, body_pull=0, start=start)
    begin = group.state["theta_personal"] if start == "own" else group.theta_global.view(3, -1)[1:]
    expected = group.train(begin, LocalLoss(), Purpose.LOCAL_BATCHES)
    torch.testing.assert_close(lcfed.site_round(group, options).state["theta_personal"], expected)


def test_a_site_without_a_cluster_trains_plainly_and_then_chooses(make):
    group = make(cluster=(-1, -1))
    result = lcfed.site_round(group, LcFedOptions(clusters=2, cluster_pull=5.0))
    expected = group.train(group.state["theta_personal"], LocalLoss(), Purpose.LOCAL_BATCHES)
    torch.testing.assert_close(result.state["theta_personal"], expected)
    assert (result.state["cluster"] >= 0).all()


def test_while_centres_are_made_everybody_is_in_the_first_and_bids_for_the_next(make):
    first, second = (lcfed.site_round(make(cluster=(-1, -1), made=made), TWO) for made in (0, 1))
    assert first.update[:, :2].tolist() == [[1, 0], [1, 0]]
    assert second.update[:, 0].tolist() == [1, 1]
    assert ((second.update[:, 1] > 0) & (second.update[:, 1] <= 1)).all()
    assert second.state["cluster"].tolist() == [-1, -1]


def test_a_site_like_an_earlier_draw_bids_almost_nothing(make):
    cosine = torch.tensor([[0.0, 0.9, 0.0], [0.0, -0.2, 0.0]])
    like, unlike = bids(make(), cosine, torch.tensor([True, True, False]))[:, 2]
    assert like < 1e-6 < unlike


def test_the_server_cannot_tell_clusters_apart(make):
    """Wherever a site belongs, its upload has the same length and its weight is its number of rows."""
    group = make()
    length = lcfed.update_length(group.trainer.model, TWO)
    results = [lcfed.site_round(make(cluster=cluster), TWO) for cluster in ((0, 1), (1, 0))]
    assert {tuple(result.update.shape) for result in results} == {(2, length)}
    assert all(result.score.tolist() == [7, 4] for result in results)


def test_it_finds_sites_that_agree_on_what_labels_mean():
    """Nine sites in three groups, each with its own permutation of the labels."""
    config = Config(
        method="lcfed", clients=9, partition="iid", rounds=8, participation=1.0, protection="plaintext",
        data_options={"rows": 1800, "flip_y": 0.0, "classes": 6, "class_sep": 2.0},
    )  # fmt: skip
    federation, rng = federation_of(config), np.random.default_rng(0)
    permutations = [rng.permutation(6) for _ in range(3)]
    clients = tuple(
        replace(client, train=Rows(client.train.X, permutations[c % 3][client.train.y]))
        for c, client in enumerate(federation.clients)
    )
    study = Simulation(assemble(config, replace(federation, clients=clients)))
    study.run()
    groups = study.assembly.sites.state["cluster"].view(3, 3).T
    assert [len(group.unique()) for group in groups] == [1, 1, 1]
    assert len(groups[:, 0].unique()) == 3


@pytest.mark.parametrize("values", [{"clusters": 0}, {"cluster_pull": -1}, {"body_pull": -1}, {"start": "mean"}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of lcfed"):
        LcFedOptions.read(values, "options of lcfed")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("lcfed", rounds=4, options={"clusters": 2})
