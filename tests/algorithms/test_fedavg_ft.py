import pytest
import torch

from secure_sapefl.algorithms import fedavg, fedavg_ft
from secure_sapefl.algorithms.fedavg_ft import FineTuningOptions, fine_tuned
from secure_sapefl.errors import BadInput
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import LocalLoss


def test_fine_tuning_is_local_training_from_the_newest_global_model(make_group, theta_initial):
    group = make_group(theta_global=theta_initial + 0.1)
    expected = group.train(group.everywhere(group.theta_global), LocalLoss(), Purpose.FINE_TUNING, 3)
    torch.testing.assert_close(fine_tuned(group, FineTuningOptions(epochs=3)), expected)
    assert not torch.allclose(expected[0], expected[1])


def test_epochs_default_to_those_of_the_study(make_group):
    group = make_group()
    default, two, one = (fine_tuned(group, FineTuningOptions(epochs=epochs)) for epochs in (None, 2, 1))
    assert torch.equal(default, two)
    assert not torch.allclose(default, one)


def test_the_same_evaluation_twice_gives_the_same_models(make_group):
    group = make_group()
    assert torch.equal(fine_tuned(group, FineTuningOptions()), fine_tuned(group, FineTuningOptions()))


def test_rounds_are_those_of_fedavg(tiny_study):
    ours, reference = tiny_study("fedavg-ft").run(), tiny_study("fedavg").run()
    assert ours.global_accuracy == reference.global_accuracy == reference.accuracy
    assert ours.accuracy.mean > reference.accuracy.mean
    assert fedavg_ft.ALGORITHM.site_round is fedavg.site_round


@pytest.mark.parametrize("values", [{"epochs": 0}, {"epochs": 1.5}])
def test_impossible_options_are_answered(values):
    with pytest.raises(BadInput, match="options of fedavg-ft"):
        FineTuningOptions.read(values, "options of fedavg-ft")


def test_encrypted_equals_plaintext(assert_twins):
    assert_twins("fedavg-ft")
