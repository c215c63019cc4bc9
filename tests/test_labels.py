"""What labels are, the scale numbers are learned on, and what stands for a class where there is none."""

import numpy as np
import pytest

from secure_sapefl.labels import BINS, CLASSES, Labels, Scale


def test_numbers_go_to_a_models_scale_and_back() -> None:
    y = np.array([[10.0], [20.0], [60.0]])
    learned = Scale.from_rows(y)
    assert learned.to_model(y).mean() == pytest.approx(0, abs=1e-6)
    assert learned.to_model(y).std() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(learned.to_units(learned.to_model(y)), y, rtol=1e-6)
    assert Labels("number", learned).for_model(y).dtype == np.float32


def test_a_public_range_is_a_width_of_even_values_and_learns_nothing() -> None:
    scale = Scale.from_ranges((0, 12))
    assert (scale.centre, scale.public) == ((6.0,), True)
    assert scale.width[0] == pytest.approx(12 / np.sqrt(12))


def test_a_label_that_never_changes_is_only_centred() -> None:
    assert Scale.from_rows(np.full((3, 1), 7.0)).width == (1.0,)


def test_classes_are_left_alone() -> None:
    y = np.array([2, 0, 1])
    assert CLASSES.for_model(y) is y
    assert CLASSES.strata(y) is y
    assert (CLASSES.in_units(y), CLASSES.stratum_count(3)) == (y, 3)


def test_the_first_yes_stands_for_the_class_of_several_labels() -> None:
    y = np.array([[0, 0], [0, 1], [1, 1]], dtype=float)
    assert Labels("yes-no").strata(y).tolist() == [0, 2, 1]
    assert Labels("yes-no").stratum_count(2) == 3


def test_tenths_of_the_records_or_of_a_public_range_stand_for_the_class_of_a_number() -> None:
    y = np.arange(100.0)[:, None]
    assert np.bincount(Labels("number").strata(y)).tolist() == [10] * BINS
    skewed = np.array([[0.0], [1.0], [99.0]])
    public = Labels("number", Scale.from_ranges((0, 100)))
    assert public.strata(skewed).tolist() == [0, 0, 9]
    assert public.strata(skewed[:1]).tolist() == [0], "no other record decides about a record's"
