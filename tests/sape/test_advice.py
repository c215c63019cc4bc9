"""What others expect of a record, by hand; and its loss, record by record, whole, and by its slope."""

import pytest
import torch

from secure_sapefl.sape.advice import Advised, expected_labels, share_of_advice
from secure_sapefl.tasks.base import Task
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, weighted
from secure_sapefl.training.objective import Batch, LocalLoss

SITES, ROWS, CLASSES = 3, 5, 4
WEIGHTED = weighted(CLASSIFICATION, (1, 2, 3, 4))


def batch(task: Task = CLASSIFICATION) -> Batch:
    """Four of a site's five rows, in another order; the last is padding at the third site."""
    random = torch.Generator().manual_seed(1)
    rows = torch.tensor([[4, 0, 2, 1], [1, 3, 0, 2], [2, 0, 1, 0]])
    weight = torch.tensor([[0.25] * 4, [0.25] * 4, [1 / 3, 1 / 3, 1 / 3, 0]])
    y = torch.randint(2 if task.labels == "yes-no" else CLASSES, (SITES, 4, CLASSES), generator=random)
    y = y.float() if task.labels == "yes-no" else y[..., 0]
    return Batch(torch.zeros(SITES, 4, 1), y, rows, weight, task=task)


def objective(share: float | None = None) -> Advised:
    expected = torch.rand((SITES, ROWS, CLASSES), generator=torch.Generator().manual_seed(2)).softmax(-1)
    return Advised(expected, torch.tensor([0.0, 0.4, 1.0]) if share is None else torch.full((SITES,), share))


def outputs() -> torch.Tensor:
    return torch.randn((SITES, 4, CLASSES), generator=torch.Generator().manual_seed(3)).requires_grad_()


def test_a_model_that_knows_nothing_expects_the_label_mix() -> None:
    shift = torch.tensor([[0.7, 0.3]]).log()
    torch.testing.assert_close(expected_labels(CLASSIFICATION, torch.zeros(1, 1, 2), shift)[0, 0], shift[0].exp())
    odds = torch.tensor([[0.0, torch.tensor(3.0).log()]])
    torch.testing.assert_close(expected_labels(MULTILABEL, torch.zeros(1, 1, 2), odds)[0, 0], torch.tensor([0.5, 0.75]))


def test_advice_counts_as_so_many_rows() -> None:
    assert share_of_advice(32.0, torch.tensor([32.0, 96.0])).tolist() == [0.5, 0.25]


def test_one_record_by_hand() -> None:
    """Of the site's second row: outputs (log 3, 0) are 3/4 and 1/4; its label is the first, expected are 1/2 each."""
    one = Batch(torch.zeros(1, 1, 1), torch.tensor([[0]]), torch.tensor([[1]]), torch.ones(1, 1))
    goal = Advised(torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]), torch.tensor([0.25]))
    logs = torch.tensor([0.75, 0.25]).log()
    expected = -0.75 * logs[0] - 0.25 * logs.mean()
    assert goal.loss(torch.tensor([[[3.0, 1.0]]]).log(), one).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("task", [CLASSIFICATION, MULTILABEL, WEIGHTED], ids=["classes", "labels", "weighted"])
def test_its_loss_is_the_sum_over_records(task: Task) -> None:
    given, goal, answers = batch(task), objective(), outputs()
    by_record = (goal.record_loss(answers, given) * given.weight).sum(1)
    torch.testing.assert_close(goal.loss(answers, given), by_record)
    assert not torch.allclose(goal.loss(answers, given)[1:], LocalLoss().loss(answers, given)[1:], atol=1e-3)


def test_its_slope_is_autograd_s() -> None:
    given, goal, answers = batch(), objective(), outputs()
    (expected,) = torch.autograd.grad(goal.loss(answers, given).sum(), answers)
    slope = goal.slope(answers.detach(), given)
    assert slope is not None
    torch.testing.assert_close(slope, expected)


@pytest.mark.parametrize("task", [MULTILABEL, WEIGHTED], ids=["labels", "weighted"])
def test_other_losses_are_left_to_autograd(task: Task) -> None:
    assert objective().slope(outputs().detach(), batch(task)) is None


def test_without_a_share_it_is_the_plain_loss() -> None:
    given, answers = batch(), outputs()
    torch.testing.assert_close(objective(0.0).loss(answers, given), LocalLoss().loss(answers, given))


def test_some_of_the_sites_have_their_own_part() -> None:
    given, goal, answers = batch(), objective(), outputs()
    part = slice(1, 3)
    narrow = goal.narrow(part).loss(answers[part], given.narrow(part))
    torch.testing.assert_close(narrow, goal.loss(answers, given)[part])


def test_what_classes_weigh_they_weigh_in_advice() -> None:
    """Whoever is certain of a record's own label says what the label says, under any loss of records."""
    given, answers = batch(WEIGHTED), outputs()
    certain = torch.nn.functional.one_hot(given.y, CLASSES).float()
    apart = Batch(given.x, given.y, torch.arange(4).expand(SITES, 4), given.weight, task=WEIGHTED)
    for share in (0.3, 1.0):
        goal = Advised(certain, torch.full((SITES,), share))
        torch.testing.assert_close(goal.loss(answers, apart), LocalLoss().loss(answers, apart))
