"""Canaries are planted by coins, and told apart by what a step holds of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.audit.canaries import coefficients, plant
from secure_sapefl.data import Federation


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_the_records_of_a_step_are_told_from_the_others(kind: str, records: Callable[..., Any]) -> None:
    made = records(kind, rows=10, width=4.0)
    used = torch.arange(10) % 2 == 0
    step = made.gradients()[used].sum(0)
    found = coefficients(made.model, made.theta, made.theta - 1e-4 * step, made.x, made.y)
    assert found[used.numpy()].mean() > 2 * np.abs(found[~used.numpy()]).mean()


def test_those_whose_coin_fell_so_are_behind_the_site_s_own_rows_and_no_others(federation: Federation) -> None:
    made, planted = plant(federation, 16, np.random.default_rng(0))
    for before, after in zip(federation.clients, made.clients, strict=True):
        own = planted[after.name]
        assert len(own.included) == 4  # 16 among four sites
        np.testing.assert_array_equal(after.train.X[:60], before.train.X)
        np.testing.assert_array_equal(after.train.X[60:], own.x.numpy()[own.included])
        np.testing.assert_array_equal(after.train.y[60:], own.y.numpy()[own.included])
        assert after.test is before.test
    coins = np.concatenate([own.included for own in planted.values()])
    assert 0 < coins.sum() < len(coins)


def test_they_are_no_more_than_a_tenth_of_a_site(federation: Federation) -> None:
    _, planted = plant(federation, 10_000, np.random.default_rng(0))
    assert {len(own.y) for own in planted.values()} == {6}
