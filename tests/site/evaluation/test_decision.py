"""A threshold on a site's own rows: chosen on some, judged on others, and what it makes of new ones."""

import numpy as np
import pytest

from secure_sapefl.data.federation import ClientData, Rows
from secure_sapefl.decisions import Goal
from secure_sapefl.errors import BadInput
from secure_sapefl.site.evaluation.decision import Asked, decide, positive_class


def rows(*pairs: tuple[float, int]) -> Rows:
    """A row is its own probability of the second class."""
    return Rows(np.array([[p] for p, _ in pairs], np.float32), np.array([y for _, y in pairs], np.int64))


def probabilities(X: np.ndarray) -> np.ndarray:
    return np.stack([1 - X[:, 0], X[:, 0]], axis=1).astype(np.float64)


OWN = ClientData(
    name="a",
    train=rows((0.1, 0), (0.3, 0), (0.25, 1), (0.75, 1)),
    test=rows((0.2, 0), (0.4, 0), (0.5, 1)),
)


def test_chosen_on_training_rows_and_judged_on_test_rows() -> None:
    found = decide(Asked(Goal("sensitivity", 1.0)), ("no", "yes"), probabilities, OWN)
    assert found.threshold == 0.25
    assert found.train is not None
    assert found.train.specificity.value == 0.5
    assert found.test is not None
    assert (found.test.rows, found.test.specificity.value) == (3, 0.5)
    assert found.curve is not None
    said = found.sentence()
    assert said is not None
    assert "'yes' from probability 0.2500 on, chosen on 4 training rows for a sensitivity of 1." in said
    assert "On 3 test rows: sensitivity 100 % (21 to 100), specificity 50 %" in said
    assert found.to_json()["goal"] == {"sensitivity": 1.0}


def test_what_it_makes_of_new_records() -> None:
    found = decide(Asked(Goal("sensitivity", 1.0)), ("no", "yes"), probabilities, OWN)
    new = np.array([[0.8, 0.2], [0.7, 0.3]])
    assert found.applied(new).tolist() == [0, 1]  # both would be "no" by the larger probability
    without = decide(Asked(positive="no"), ("no", "yes"), probabilities, OWN)
    assert without.applied(new).tolist() == [0, 0]
    assert without.sentence() is None
    assert without.positive == 0


def test_of_three_classes_the_likeliest_of_the_others_is_left() -> None:
    found = decide(Asked(Goal("specificity", 1.0), "b"), ("a", "b"), probabilities, OWN)
    assert found.threshold == 0.75
    assert positive_class("c", ("a", "b", "c")) == 2
    with pytest.raises(BadInput, match="--positive: a, b, c"):
        positive_class(None, ("a", "b", "c"))
    with pytest.raises(BadInput, match="'d'"):
        positive_class("d", ("a", "b", "c"))


def test_without_test_rows_there_is_a_threshold_and_no_curve() -> None:
    bare = ClientData(name="a", train=OWN.train, test=Rows(np.zeros((0, 1), np.float32), np.zeros(0, np.int64)))
    found = decide(Asked(Goal("sensitivity", 0.5)), ("no", "yes"), probabilities, bare)
    assert found.curve is None
    assert "no rows to tell the sensitivity by" in (found.sentence() or "")
