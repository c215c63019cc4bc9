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
        {"contributors": 1},
        {"contributors": 3, "colluders": 2},
        {"contributors": 0, "colluders": 1},
        {"contributors": 3, "colluders": -1},
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


def test_a_share_of_noise_counts_alone_and_in_a_sum(event: Callable[..., Event]) -> None:
    """Of eleven contributors one colludes and one is curious: nine shares of 0.5 are one noise of 1.5."""
    one = event(noise_multiplier=0.5, contributors=11, colluders=1)
    assert Event.from_json(one.to_json()) == one
    assert (one.shared, one.honest) == (True, 9)
    assert one.noise_multiplier == 0.5
    assert one.in_a_sum().noise_multiplier == pytest.approx(1.5)


def test_an_event_without_shared_noise_is_written_as_before(event: Callable[..., Event]) -> None:
    one = event()
    assert {"contributors", "colluders"}.isdisjoint(one.to_json())
    assert one.in_a_sum() is one


@pytest.mark.parametrize("epsilon", [0.0, -1.0, NAN, INF])
def test_epsilon_is_a_number_above_zero(epsilon: float) -> None:
    with pytest.raises(BadInput, match="is no budget"):
        Budget(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, NAN])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(BadInput, match="delta"):
        Budget(1.0, delta)
