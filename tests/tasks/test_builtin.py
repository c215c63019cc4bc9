"""Classification, labels of yes and no, and regression: losses by hand, and answers as they are compared."""

import math

import pytest
import torch

from secure_sapefl.errors import BadInput
from secure_sapefl.sape.similarity import clipped_cosine
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, REGRESSION, TASKS, weighted, with_weights


def test_losses_by_hand() -> None:
    even = torch.zeros(1, 2, 2)
    assert CLASSIFICATION.losses(even, torch.tensor([[0, 1]])).flatten().tolist() == pytest.approx([math.log(2)] * 2)
    assert MULTILABEL.losses(even, torch.ones(1, 2, 2)).flatten().tolist() == pytest.approx([math.log(2)] * 2)
    assert REGRESSION.losses(even[..., :1], torch.tensor([[[2.0], [4.0]]])).tolist() == [[2.0, 8.0]]


def test_the_loss_of_a_batch_weighs_its_records() -> None:
    outputs, y = torch.zeros(1, 2, 1), torch.tensor([[[2.0], [4.0]]])
    assert REGRESSION.loss(outputs, y, torch.tensor([[0.25, 0.75]])).tolist() == [6.5]


def test_numbers_that_are_alike_are_similar_and_those_that_are_not_are_not() -> None:
    near, far = (
        clipped_cosine(REGRESSION.compared(torch.tensor([1.0])), REGRESSION.compared(torch.tensor([other])))
        for other in (1.1, -1.0)
    )
    assert near > 0.99
    assert far == 0


def test_log_odds_and_log_shares_add_half_a_row() -> None:
    assert CLASSIFICATION.label_shift is not None
    assert MULTILABEL.label_shift is not None
    shares = CLASSIFICATION.label_shift(torch.tensor([[3.0, 0.0]]), torch.tensor([[3.0]]))
    assert shares.exp().tolist() == [pytest.approx([3.5 / 4, 0.5 / 4])]
    odds = MULTILABEL.label_shift(torch.tensor([[3.0, 0.0]]), torch.tensor([[3.0]]))
    assert odds.exp().tolist() == [pytest.approx([7.0, 1 / 7])]
    assert REGRESSION.label_shift is None


def test_a_record_of_a_weighted_class_counts_more() -> None:
    task = weighted(CLASSIFICATION, [1.0, 3.0])
    found = task.losses(torch.zeros(1, 2, 2), torch.tensor([[0, 1]]))
    assert found.flatten().tolist() == pytest.approx([math.log(2), 3 * math.log(2)])


def test_weights_must_fit() -> None:
    assert with_weights(CLASSIFICATION, None, 2) is CLASSIFICATION
    with pytest.raises(BadInput, match="3 class weights and 2 classes"):
        with_weights(CLASSIFICATION, "1,2,3", 2)
    with pytest.raises(BadInput, match="for classification"):
        with_weights(REGRESSION, "1,2", 2)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_names_what_it_is_judged_by_first(task) -> None:
    assert task.metrics[0].name == ("mae" if task is REGRESSION else "accuracy")
    assert task.outputs(4) == 4
