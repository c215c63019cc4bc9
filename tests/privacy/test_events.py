from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.events import Budget, Event

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "changes",
    [
        {"noise_multiplier": 0.0},
        {"noise_multiplier": -1.0},
        {"noise_multiplier": NAN},
        {"noise_multiplier": INF},
        {"sample_rate": 0.0},
        {"sample_rate": 1.01},
        {"sample_rate": NAN},
        {"steps": 0},
        {"round_index": -1},
        {"mechanism": "laplace"},
    ],
    ids=str,
)
def test_an_event_that_is_not_private_cannot_be_made(event: Callable[..., Event], changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="Not an event"):
        event(**changes)


def test_an_event_comes_back_from_json_and_cannot_be_changed(event: Callable[..., Event]) -> None:
    one = event()
    assert Event.from_json(one.to_json()) == one
    with pytest.raises(FrozenInstanceError):
        one.steps = 1  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, NAN, INF])
def test_epsilon_is_a_number_above_zero(epsilon: float) -> None:
    with pytest.raises(BadInput, match="is no budget"):
        Budget(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, NAN])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(BadInput, match="delta"):
        Budget(1.0, delta)
