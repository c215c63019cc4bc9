"""Labels of an .npz: classes, numbers, or a column a label."""

import numpy as np
import pytest

from secure_sapefl.data.arrays import Arrays
from secure_sapefl.data.tables.array_labels import labels_of
from secure_sapefl.errors import BadInput


def arrays(**values: object) -> Arrays:
    return Arrays("mine.npz", {name: np.asarray(value) for name, value in values.items()})


def test_several_columns_are_yes_or_no_by_themselves() -> None:
    y, names, labels = labels_of(arrays(y=[[0, 1], [1, 1]]), 2, None)
    assert (y.tolist(), names, labels.kind) == ([[0, 1], [1, 1]], ("y0", "y1"), "yes-no")
    named = arrays(y=[[0, 1], [1, 1]], label_names=["cough", "fever"])
    assert labels_of(named, 2, None)[1] == ("cough", "fever")


def test_numbers_where_the_task_reads_them() -> None:
    y, names, labels = labels_of(arrays(y=[1.5, 2.5]), 2, "number")
    assert (y.tolist(), names, labels.kind) == ([[1.5], [2.5]], ("y",), "number")


def test_classes_otherwise() -> None:
    y, names, labels = labels_of(arrays(y=["b", "a"]), 2, None)
    assert (y.tolist(), names, labels.kind) == ([1, 0], ("a", "b"), "class")


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"y": [[0.5, 1], [0, 1]]}, "yes-no", "other values than 0 and 1"),
        ({"y": [1.0, np.nan]}, "number", "expected finite numbers"),
        ({"y": [1.0]}, "number", "expected finite numbers, 2 x labels"),
        ({"y": [[1, 0], [0, 1]], "label_names": ["one"]}, "yes-no", "has 1 names for 2 columns"),
        ({"y": [0.5, 1.5]}, "class", "expected integer or string labels"),
    ],
)
def test_a_mistake_is_named(values, kind, message) -> None:
    with pytest.raises(BadInput, match=message):
        labels_of(arrays(**values), 2, kind)
