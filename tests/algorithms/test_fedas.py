from dataclasses import replace

import pytest
import torch

from secure_sapefl.algorithms import fedas
from secure_sapefl.algorithms.fedas import FedAsOptions, TowardsPrototypes, aligned_body, class_means, fisher_trace
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Batch, LocalLoss
from tests.global_step import aggregate


@pytest.fixture
def group(make_group, theta_initial):
    """Personal models that have left the global one."""
    drift = torch.linspace(-0.2, 0.2, theta_initial.numel())
    return make_group(state={"theta_personal": torch.stack([theta_initial + drift, theta_initial - drift])})


def body(group, theta):
    return theta[..., : group.trainer.model.head_start]


def test_class_means_are_means_over_each_site_s_own_rows(group):
    old, model = group.state["theta_personal"], group.trainer.model
    means = class_means(group, body(group, old))
    for g in range(2):
        x, y = group.shard.site(g)
        features = model.body.outputs(body(group, old)[g : g + 1], x[None])[0]
        for label in y.unique():
            torch.testing.assert_close(means[g, label], features[y == label].mean(0))


def test_the_alignment_loss_by_hand():
    """Class 0: rows (1, 1), (3, 1) against (1, 1): mean of 0, 0, 4, 0 = 1. Class 1: (0, 2) against (0, 0): 2. Sum 3."""
    prototypes = torch.tensor([[[1.0, 1.0], [0.0, 0.0]]])
    features = torch.tensor([[[1.0, 1.0], [3.0, 1.0], [0.0, 2.0], [9.0, 9.0]]])
    weight = torch.tensor([[1.0, 1.0, 1.0, 0.0]]) / 3  # the fourth row is padding
    batch = Batch(features, torch.tensor([[0, 0, 1, 1]]), torch.zeros(1, 4), weight)
    assert TowardsPrototypes(prototypes).loss(features, batch).tolist() == pytest.approx([3.0])


def test_alignment_brings_features_closer_to_the_old_ones_and_leaves_the_global_body_alone(group):
    old = body(group, group.state["theta_personal"])
    objective, before = TowardsPrototypes(class_means(group, old)), group.theta_global.clone()
    aligned = aligned_body(group, old, FedAsOptions(alignment_epochs=20, alignment_lr=0.05))
    _, batch = next(replace(group, batch_size=7).steps(Purpose.LOCAL_BATCHES, 1))

    def distance(bodies):
        return objective.loss(group.trainer.model.body.outputs(bodies, batch.x), batch)

    assert (distance(aligned) < distance(group.everywhere(body(group, before)))).all()
    assert torch.equal(group.theta_global, before)


def test_alignment_has_a_learning_rate_of_its_own(group):
    old = body(group, group.state["theta_personal"])
    still = aligned_body(group, old, FedAsOptions(alignment_lr=1e-12))
    torch.testing.assert_close(still, group.everywhere(body(group, group.theta_global)))


def test_fisher_is_the_sum_of_squared_batch_gradients(group):
    theta, whole = group.state["theta_personal"], replace(group, batch_size=7)
    _, everything = next(whole.steps(Purpose.FISHER_BATCHES, 1))
    squared = group.trainer.gradient(theta, everything, LocalLoss()).square().sum(1)
    torch.testing.assert_close(fisher_trace(whole, theta), squared)
    assert (fisher_trace(group, theta) > squared).all()  # more batches, and noisier ones


def test_equal_fisher_weights_give_the_plain_mean_of_bodies(group):
    result = fedas.site_round(group, FedAsOptions(fisher_cap=1e-6))
    phi_global = aggregate(body(group, group.theta_global), result.update, result.score)
    torch.testing.assert_close(phi_global, body(group, result.state["theta_personal"]).mean(0))


def test_training_starts_from_the_aligned_body_and_the_old_head(group):
    old, split, options = group.state["theta_personal"], group.trainer.model.head_start, FedAsOptions()
    start = torch.cat([aligned_body(group, old[:, :split], options), old[:, split:]], 1)
    expected = group.train(start, LocalLoss(), Purpose.PERSONAL_BATCHES)
    torch.testing.assert_close(fedas.site_round(group, options).state["theta_personal"], expected)


def test_heads_never_leave_a_site(tiny_study):
    study = tiny_study("fedas")
    study.run()
    tensors, split = study.tensors(), study.assembly.blueprint.study.parameters
    moved = tensors["theta_global"] != study.assembly.sites.theta_initial
    assert moved[:split].any()
    assert not moved[split:].any()
    assert (tensors["theta_personal"][:, split:] != tensors["theta_global"][split:]).any(1).all()


@pytest.mark.parametrize("values", [{"alignment_epochs": 0}, {"alignment_lr": 0}, {"fisher_cap": 0}, {"fisher": 1}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of fedas"):
        FedAsOptions.read(values, "options of fedas")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("fedas")
