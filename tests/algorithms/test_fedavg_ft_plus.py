"""What a site makes of its base, worked by hand."""

from dataclasses import replace

import pytest
import torch

from secure_sapefl.algorithms.base import NoOptions
from secure_sapefl.algorithms.fedavg import ALGORITHM as FEDAVG
from secure_sapefl.algorithms.fedavg_ft_plus import (
    ALGORITHM,
    OwnModelOptions,
    advised,
    shifted_to_labels,
    why_not_shifted,
)
from secure_sapefl.conformance.sites import FourSites
from secure_sapefl.models.stacked import Linear, StackedModel
from secure_sapefl.streams import Purpose
from secure_sapefl.tasks.builtin import MULTILABEL, REGRESSION
from secure_sapefl.training.objective import LocalLoss
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer


@pytest.fixture
def group():
    return FourSites().ready(ALGORITHM)


def linear(group, labels, task):
    """One site with a model of two inputs and two outputs."""
    model = StackedModel((Linear(2, 2),), classes=2, widest=2)
    y = torch.tensor(labels)
    shard = Shard(torch.zeros((len(y), 2)), y, (0,), (len(y),), task=task)
    return replace(group, trainer=BatchedTrainer(model), shard=shard)


def test_log_shares_of_labels_go_to_the_bias_of_outputs(group):
    """Three rows of the first class and one of the second, half a row added to both: 0.7 and 0.3."""
    site = linear(group, [0, 0, 1, 0], group.task)
    shifted = shifted_to_labels(site, torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
    expected = [1.0, 2.0, 3.0, 4.0, 5 + torch.tensor(0.7).log(), 6 + torch.tensor(0.3).log()]
    assert shifted[0].tolist() == pytest.approx([float(one) for one in expected])


def test_log_odds_where_each_label_is_yes_or_no(group):
    """Yes three times of four, and never: (3.5 : 1.5) and (0.5 : 4.5)."""
    site = linear(group, [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], MULTILABEL)
    shifted = shifted_to_labels(site, torch.zeros((1, 6)))
    assert shifted[0, 4:].tolist() == pytest.approx([torch.tensor(one).log().item() for one in (3.5 / 1.5, 0.5 / 4.5)])


def test_numbers_have_no_mix_and_the_tuned_model_is_used_as_it_is(group):
    site = linear(group, [[1.0, 2.0]] * 4, REGRESSION)
    site = replace(site, theta_global=torch.ones(6), streams=lambda purpose: group.streams(purpose)[:1])
    assert shifted_to_labels(site, torch.ones((1, 6))) is None
    mixed, tuned = (ALGORITHM.personal_models(site, OwnModelOptions(base_share=share)) for share in (0.3, 0.0))
    assert torch.equal(mixed, tuned)
    said = [why_not_shifted(site.trainer.model, task, torch.ones(6), (2,)) for task in (REGRESSION, MULTILABEL)]
    assert said[0] is not None
    assert "regression have no mix" in said[0]
    assert said[1] is None


def test_a_share_of_the_told_base_stays_in_the_model(group):
    base = group.everywhere(group.theta_global)
    tuned = group.train_averaged(base, LocalLoss(), Purpose.FINE_TUNING, 4)
    expected = 0.75 * tuned + 0.25 * shifted_to_labels(group, base)
    found = ALGORITHM.personal_models(group, OwnModelOptions(base_share=0.25))
    torch.testing.assert_close(found, expected)


def test_averaging_is_the_mean_over_the_second_half_of_the_epochs(group):
    base, options = group.everywhere(group.theta_global), OwnModelOptions(base_share=0.0)
    after = [group.train(base, LocalLoss(), Purpose.FINE_TUNING, epochs) for epochs in (3, 4)]
    torch.testing.assert_close(ALGORITHM.personal_models(group, options), torch.stack(after).mean(0))
    last = ALGORITHM.personal_models(group, options.model_copy(update={"averaging": False}))
    torch.testing.assert_close(last, after[1])


def test_the_base_is_the_smoothed_model_where_there_is_one(group):
    smoothed = replace(group, theta_smoothed=group.theta_global + 1)
    moved = replace(group, theta_global=group.theta_global + 1)
    found, expected = (ALGORITHM.personal_models(one, OwnModelOptions()) for one in (smoothed, moved))
    assert torch.equal(found, expected)


def test_where_nobody_is_asked_a_round_is_fedavg_s(group):
    found, expected = ALGORITHM.site_round(group, OwnModelOptions()), FEDAVG.site_round(group, NoOptions())
    assert torch.equal(found.update, expected.update)
    assert torch.equal(found.score, expected.score)
    asking = ALGORITHM.site_round(group, OwnModelOptions(advice=16))
    assert not torch.allclose(asking.update, expected.update, atol=1e-3)


def test_the_global_model_told_the_labels_is_asked_about_every_row(group):
    """log pi_c is in what it expects: a model that answers 0 everywhere expects the site's label mix."""
    asked = advised(group, OwnModelOptions(advice=16), torch.zeros_like(group.everywhere(group.theta_global)))
    counts = group.label_counts + 0.5
    mix = (counts / counts.sum(1, keepdim=True)).unsqueeze(1).expand_as(asked.expected)
    torch.testing.assert_close(asked.expected, mix)
    torch.testing.assert_close(asked.share, 16 / (16 + group.row_counts))
    some = advised(group, OwnModelOptions(advice=16), group.everywhere(group.theta_global), torch.arange(4) != 2)
    assert some.share.tolist() == [*asked.share[:2].tolist(), 0, asked.share[3].item()]


def test_nobody_is_asked_in_a_private_study_nor_about_numbers(group):
    site = linear(group, [[1.0, 2.0]] * 4, REGRESSION)
    assert advised(site, OwnModelOptions(advice=16), torch.zeros(1, 6)) == LocalLoss()
    private = replace(group, private=object())
    assert advised(private, OwnModelOptions(advice=16), group.everywhere(group.theta_global)) == LocalLoss()
