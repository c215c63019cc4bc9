"""One model on held-out rows: every metric of its task, and intervals that know what they are of."""

import numpy as np
import pytest

from secure_sapefl.site.evaluation.models import judged_model
from secure_sapefl.tasks.builtin import CLASSIFICATION, MULTILABEL, REGRESSION


def test_classes_have_wilsons_interval_and_two_of_them_one_of_the_auc() -> None:
    y = np.arange(10) % 2
    model = judged_model(CLASSIFICATION, (np.eye(2)[y] * 3).astype(np.float32), y)
    accuracy = model.sure["accuracy"]
    assert (accuracy.value, accuracy.high) == (1, 1)
    assert accuracy.low == pytest.approx(0.7225, abs=1e-4)  # 10 of 10: 1 / (1 + z² / 10)
    assert model.sure["auc"].low == 1
    assert model.answers[0, 0] == pytest.approx(1 / (1 + np.exp(-3)))


def test_numbers_have_the_bootstrap_in_their_units() -> None:
    y = np.linspace(0, 10, 50)[:, None]
    wrong = np.where(np.arange(50) < 25, 1.0, 3.0)[:, None]  # half are off by 1, half by 3
    model = judged_model(REGRESSION, y + wrong, y)
    sure = model.sure["mae"]
    assert sure.value == 2
    deviation = 1 / np.sqrt(50)  # of a mean of 50 draws of 1 and 3
    assert (sure.low, sure.high) == pytest.approx((2 - 1.96 * deviation, 2 + 1.96 * deviation), abs=0.05)
    assert list(model.sure) == ["mae", "r2"]
    assert set(model.to_json()) == {"mae", "r2", "metrics"}
    np.testing.assert_array_equal(model.answers, y + wrong)


def test_labels_of_one_row_are_drawn_together() -> None:
    """Ten labels that are right together or wrong together say no more than one of them."""
    y = np.zeros((20, 10))
    outputs = np.where(np.arange(20)[:, None] < 10, -1.0, 1.0) * np.ones(10)
    one, ten = (judged_model(MULTILABEL, outputs[:, :k], y[:, :k]).sure["accuracy"] for k in (1, 10))
    assert (one.low, one.high) == (ten.low, ten.high)
    assert one.value == 0.5


@pytest.mark.parametrize("task", [CLASSIFICATION, MULTILABEL, REGRESSION])
def test_without_rows_nothing_is_claimed(task: object) -> None:
    y = np.zeros(0, np.int64) if task is CLASSIFICATION else np.zeros((0, 2))
    model = judged_model(task, np.zeros((0, 2), np.float32), y)  # type: ignore[arg-type]
    for found in model.sure.values():
        assert np.isnan([found.value, found.low, found.high]).all()
    main = next(iter(model.sure))
    assert model.to_json()[main] == {"value": None, "low": None, "high": None}
