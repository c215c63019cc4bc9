"""Preparation learns from training rows alone."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secure_sapefl.data.prepare import (
    LARGEST_STANDARDISED,
    LearnedScale,
    PublicScale,
    Range,
    as_given,
    learns_from_rows,
    pixels,
    recipe_of,
    standardise,
)

nan = np.nan


def test_standardising_by_hand():
    """Training column 1, 3: mean 2, deviation 1. The test row 5 is three deviations up."""
    train, test = standardise(np.array([[1.0], [3.0]]), np.array([[5.0]]))
    assert train.tolist() == [[-1.0], [1.0]]
    assert test.tolist() == [[3.0]]


def test_a_missing_value_takes_the_lower_median_of_the_training_rows():
    """Of 3, 6, 7, 7 the lower median is 6, a code that occurs; filled in: 3, 6, 7, 7, 6."""
    column = np.array([[3.0], [6.0], [7.0], [7.0], [nan]])
    train, test = standardise(column, np.array([[nan], [6.0]]))
    assert train[4] == train[1] == test[0] == test[1]


def test_a_column_never_recorded_in_training_is_neutral_everywhere():
    train, test = standardise(np.array([[nan, 1.0], [nan, 2.0]]), np.array([[250.0, 1.5]]))
    assert train[:, 0].tolist() == [0.0, 0.0]
    assert test[0, 0] == 0.0


def test_a_constant_column_is_centred_and_does_not_explode():
    train, test = standardise(np.full((3, 1), 0.1), np.array([[1.1]]))
    np.testing.assert_allclose(train, 0.0, atol=1e-6)
    np.testing.assert_allclose(test, 1.0, atol=1e-6)


def test_a_site_with_hardly_any_spread_is_clipped():
    _, test = standardise(np.array([[0.0], [0.001]]), np.array([[1e6]]))
    assert test.item() == LARGEST_STANDARDISED


values = st.floats(-1e6, 1e6) | st.just(nan)


@given(arrays(np.float64, (6, 3), elements=values), arrays(np.float64, (4, 3), elements=values))
def test_test_rows_change_nothing_about_training_rows(train, test):
    alone, _ = standardise(train, test[:1])
    beside, prepared = standardise(train, test)
    np.testing.assert_array_equal(alone, beside)
    assert np.isfinite(beside).all()
    assert np.isfinite(prepared).all()


@pytest.mark.parametrize(("shape", "expected"), [((2, 28, 28), (2, 1, 28, 28)), ((2, 32, 32, 3), (2, 3, 32, 32))])
def test_images_come_channels_first_in_minus_one_to_one(shape, expected):
    images = np.zeros(shape, np.uint8)
    images[1] = 255
    out, _ = pixels(images, images[:1])
    assert out.shape == expected
    assert out.dtype == np.float32
    assert out.flags.c_contiguous
    assert (out[0] == -1).all()
    assert (out[1] == 1).all()


def test_colours_keep_their_channel():
    image = np.zeros((1, 2, 2, 3), np.uint8)
    image[..., 1] = 255
    out, _ = pixels(image, image)
    assert [float(out[0, channel].mean()) for channel in range(3)] == [-1.0, 1.0, -1.0]


def test_public_ranges_by_hand():
    """From 0 to 12 a width is 12 / sqrt(12); around 3, missing is 0, and what is beyond the range is at its end."""
    scale = PublicScale((Range(0.0, 12.0, 3.0),))
    train, test = scale(np.array([[3.0], [nan], [12.0]]), np.array([[-5.0], [99.0]]))
    np.testing.assert_allclose(train[:, 0], [0.0, 0.0, 9 / 12**0.5], rtol=1e-6)
    np.testing.assert_allclose(test[:, 0], [-3 / 12**0.5, 9 / 12**0.5], rtol=1e-6)


@given(arrays(np.float64, (6, 2), elements=values), arrays(np.float64, (6, 2), elements=values))
def test_a_public_scale_learns_nothing_from_other_rows(rows, others):
    """A row comes out the same whichever rows stand beside it."""
    scale = PublicScale((Range(-10, 10, 0), Range(0, 1e6, 5)))
    beside, _ = scale(np.concatenate([rows, others]), others)
    alone, _ = scale(rows, rows[:1])
    np.testing.assert_array_equal(beside[:6], alone)
    assert np.abs(alone).max() <= 12**0.5


def test_standardising_alone_learns():
    assert learns_from_rows(standardise)
    assert not learns_from_rows(pixels)
    assert not learns_from_rows(PublicScale(()))


def by_recipe(recipe, rows):
    """What somebody does who has the recipe, as JSON gives it back, and NumPy."""
    known = {name: np.array(value) for name, value in json.loads(json.dumps(dict(recipe))).items()}
    functions = {name: getattr(np, name) for name in ("where", "isnan", "nan_to_num", "sqrt")}
    formula = recipe["formula"].replace("-clip, clip", "-most, most")
    names = {**known, **functions, "clip": np.clip, "most": recipe.get("clip"), "x": rows}
    return eval(formula, names).astype(np.float32)  # noqa: S307 - our own formula


@given(
    arrays(np.float64, (6, 2), elements=st.one_of(values, st.just(nan))),
    arrays(np.float64, (4, 2), elements=st.one_of(values, st.just(nan))),
)
def test_a_recipe_gives_the_very_rows_of_its_preparation(train, test):
    """To the last bit, at whoever has nothing but the recipe."""
    public = PublicScale((Range(-10, 10, 0), Range(0, 1e6, 5)))
    for prepare in (standardise, LearnedScale.from_rows(train), public):
        np.testing.assert_array_equal(by_recipe(recipe_of(prepare, train), test), prepare(train, test)[1])


def test_recipes_of_rows_that_nothing_is_learned_from():
    rows = np.zeros((2, 2))
    assert recipe_of(as_given, rows)["formula"] == "x"
    assert recipe_of(pixels, rows)["kind"] == "pixels"


def test_a_preparation_that_cannot_say_what_it_does_is_named():
    def squares(train, test):
        return train**2, test**2

    assert "squares" in recipe_of(squares, np.zeros((2, 2)))["words"]
    assert recipe_of(squares, np.zeros((2, 2)))["formula"] is None
