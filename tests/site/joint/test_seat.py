"""Keys of one attempt, in memory: a later attempt ends them, a crash loses them, and the site says so."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto.errors import FrameRejected, KeyRejected
from secure_sapefl.protocol.joint.messages import Delivery, KeysGone, KeyWanted
from secure_sapefl.protocol.messages import AnnouncedKey
from secure_sapefl.site.joint.seat import Seat

World = Callable[..., Any]


@pytest.fixture
def seat(world: World) -> Seat:
    deployed = world(method="fedavg", keys="joint")
    return deployed.start_agent("north").site.keys._seat  # the agent's own


def wanted(index: int = 0, attempt: int = 0) -> KeyWanted:
    return KeyWanted(round_index=index, attempt=attempt)


def test_asked_again_it_announces_the_same_key_and_in_another_attempt_another(seat: Seat) -> None:
    first = seat.perform(wanted())
    assert isinstance(first, AnnouncedKey)
    assert seat.perform(wanted()) == first
    assert seat.perform(wanted(attempt=1)) != first
    with pytest.raises(FrameRejected, match="a later one has begun"):
        seat.perform(wanted())


def test_started_anew_it_says_that_its_keys_are_gone(seat: Seat) -> None:
    delivery = Delivery(round_index=0, attempt=0, parcels=())
    assert seat.perform(delivery) == KeysGone(site="north")
    seat.perform(wanted(attempt=1))
    seat.erase()
    assert seat.perform(Delivery(round_index=0, attempt=1, parcels=())) == KeysGone(site="north")


def test_a_round_that_is_over_leaves_nothing(seat: Seat) -> None:
    seat.perform(wanted(2))
    seat.close(1)
    assert seat._legs is not None
    seat.close(2)
    assert seat._legs is None


@pytest.mark.parametrize("end", [lambda seat: seat.close(0), lambda seat: seat.perform(wanted(attempt=1))])
def test_what_others_still_hold_of_it_opens_nothing(seat: Seat, end: Callable[[Seat], object]) -> None:
    """Erased, not only let go of: what a traceback or a slow collector keeps is of no use."""
    legs = seat.legs(0, 0)
    end(seat)
    with pytest.raises(KeyRejected, match="erased when the round closed"):
        legs._sealing.unseal(b"anything", context=b"")  # what a thief of its memory would try


def test_who_was_not_drawn_has_no_duty(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    committee = seat._terms.committee(0)
    monkeypatch.setattr(
        type(seat._terms),
        "committee",
        lambda *_: type(committee)(members=("east", "south", "west"), threshold=2, tolerated=1),
    )
    with pytest.raises(FrameRejected, match="'north' is not drawn for its committee"):
        seat.perform(wanted())
