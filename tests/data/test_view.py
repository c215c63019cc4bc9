"""What a cluster of clients calls the classes, and which way up its images are."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from secure_sapefl.data.table import Table
from secure_sapefl.data.view import View, differing_views
from secure_sapefl.errors import BadInput

Tables = Callable[..., Table]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_images_of_a_cluster_are_turned_together(make_table: Tables) -> None:
    pictures = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    np.testing.assert_array_equal(View(quarter_turns=1).of_features(pictures)[0], [[2, 5], [1, 4], [0, 3]])
    np.testing.assert_array_equal(View(quarter_turns=2).of_features(pictures)[0], [[5, 4, 3], [2, 1, 0]])
    square = replace(make_table([0, 1, 2] * 10), X=np.zeros((30, 8, 8, 3), np.uint8))
    oblong = replace(square, X=np.zeros((30, 8, 6), np.uint8))
    flat = make_table([0, 1, 2] * 10)
    turns = {name: [v.quarter_turns for v in differing_views(table, 6, rng())] for name, table in
             (("square", square), ("oblong", oblong), ("flat", flat))}  # fmt: skip
    assert turns == {"square": [0, 1, 2, 3, 0, 1], "oblong": [0, 2, 0, 2, 0, 2], "flat": [0] * 6}


def test_two_classes_have_two_names_for_each_other(make_table: Tables) -> None:
    table = make_table([0, 1] * 30)
    views = differing_views(table, 2, rng())
    assert {tuple(view.of_labels(np.array([0, 1])).tolist()) for view in views} == {(0, 1), (1, 0)}
    with pytest.raises(BadInput, match="3 clusters need as many ways to name the classes; 2 classes have 2"):
        differing_views(table, 3, rng())


def test_a_recipe_says_only_what_is_unusual() -> None:
    assert View().recipe() == {}
    turned = View(labels=np.array([1, 0]), quarter_turns=2).recipe()
    assert turned == {"first": "rot90(x, 2, axes=(1, 2))", "labels": [1, 0]}
