"""Which rounds a study has: plain, with a committee, and with nonces first where committees are drawn."""

from collections.abc import Callable
from typing import Any

import pytest

from secure_sapefl.coordinator.joint.rounds import JointRounds
from secure_sapefl.coordinator.rounds import Rounds

World = Callable[..., Any]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"method": "fedavg"}, Rounds),
        ({"method": "fedavg", "keys": "joint"}, JointRounds),
        ({"method": "fedacs", "keys": "joint"}, Rounds),
    ],
)
def test_by_keys_and_by_whether_there_is_a_sum(world: World, fields: dict[str, str], kind: type) -> None:
    assert type(world(**fields).start_server().rounds) is kind


def test_where_committees_are_drawn_nothing_begins_before_all_have_consented(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 3)
    rounds = world(method="fedavg", keys="joint").start_server().rounds
    assert rounds.open is None
    assert rounds.waiting == ["north", "east", "south", "west"]
