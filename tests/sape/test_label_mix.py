"""Biases and their test, worked by hand."""

from functools import partial

import pytest
import torch

from secure_sapefl.sape.label_mix import clearly_positive, fitted_biases

softmax = partial(torch.softmax, dim=-1)


def test_biases_of_two_classes_by_hand():
    """Three rows of one class and one of the other, outputs of 0: b = (t, -t), 4 sigmoid(2 t) = 3 - t."""
    labels = torch.tensor([[[1.0, 0.0]] * 3 + [[0.0, 1.0]]])
    bias = fitted_biases(torch.zeros((1, 4, 2)), labels, torch.ones((1, 4)), exclusive=True)
    assert bias[0].tolist() == pytest.approx([0.3419, -0.3419], abs=1e-4)


def test_biases_where_each_label_is_yes_or_no_by_hand():
    """Yes three times of four: 4 sigmoid(b) = 3 - b, b = 0.505."""
    labels = torch.tensor([[[1.0], [1.0], [1.0], [0.0]]])
    bias = fitted_biases(torch.zeros((1, 4, 1)), labels, torch.ones((1, 4)), exclusive=False)
    assert bias.item() == pytest.approx(0.5052, abs=1e-4)


def test_biases_are_where_the_penalised_loss_is_flat_and_rows_that_are_not_there_count_nothing():
    random = torch.Generator().manual_seed(0)
    outputs = torch.randn((2, 30, 4), generator=random)
    labels = torch.nn.functional.one_hot(torch.randint(3, (2, 30), generator=random), 4)
    present = torch.ones((2, 30))
    present[1, 20:] = 0
    bias = fitted_biases(outputs, labels, present, exclusive=True)
    slope = ((softmax(outputs + bias.unsqueeze(1)) - labels) * present.unsqueeze(2)).sum(1) + bias
    assert slope.abs().max() < 0.05
    alone = fitted_biases(outputs[1:, :20], labels[1:, :20], present[1:, :20], exclusive=True)
    torch.testing.assert_close(bias[1:], alone)


def test_records_with_the_same_outputs_may_stand_as_one():
    outputs = torch.tensor([0.3, -1.0, 0.7]).expand(1, 5, 3)
    labels = torch.nn.functional.one_hot(torch.tensor([[0, 0, 2, 0, 2]]), 3)
    each = fitted_biases(outputs, labels, torch.ones((1, 5)), exclusive=True)
    as_one = fitted_biases(outputs[:, :1], labels.float().mean(1, keepdim=True), torch.tensor([[5.0]]), exclusive=True)
    torch.testing.assert_close(each, as_one)


def test_a_model_that_is_surer_than_numbers_can_tell_has_biases():
    """It is wrong about five thousand records: the other label's bias falls below what has an exponential."""
    outputs, labels = torch.tensor([[[0.0, 4000.0]]]), torch.tensor([[[1.0, 0.0]]])
    bias = fitted_biases(outputs, labels, torch.tensor([[5000.0]]), exclusive=True)
    assert bias.isfinite().all()
    assert bias[0, 0] > 0 > bias[0, 1]


@pytest.mark.parametrize(
    ("gain", "clear"),
    [
        ([1.0, 1.0, 1.0, 1.0], True),  # no doubt at all
        ([2.0, 1.0, 2.0, 1.0], True),  # 1.5 against 2 * 0.29
        ([3.0, -1.0, 3.0, -1.0], False),  # 1 against 2 * 1.15
        ([-1.0, -1.0, -1.0, -1.0], False),
        ([0.0, 0.0, 0.0, 0.0], False),
        ([float("nan"), 1.0, 1.0, 1.0], False),
    ],
)
def test_a_gain_is_clear_beyond_two_standard_errors(gain, clear):
    assert clearly_positive(torch.tensor([gain]), torch.ones((1, 4))).tolist() == [clear]


def test_a_single_row_is_no_evidence():
    present = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert clearly_positive(torch.tensor([[5.0, -9.0, -9.0], [5.0, 4.0, -9.0]]), present).tolist() == [False, True]
