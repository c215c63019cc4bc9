"""A site leaves when its last answer has arrived, and not before."""

from dataclasses import dataclass, field

import pytest

from secure_sapefl.site.farewell import CARRIED_SECONDS, SILENT_SECONDS, Farewell
from secure_sapefl.transport.flower import LOOPBACK, free_port, listens


@dataclass
class Clock:
    seconds: float = 0.0
    server_is_there: bool = True
    farewell: Farewell = field(init=False)

    def __post_init__(self) -> None:
        self.farewell = Farewell(lambda: self.server_is_there, lambda: self.seconds)

    def after(self, seconds: float, messages: int = 5) -> bool:
        self.seconds += seconds
        return self.farewell.is_due(messages)


@pytest.fixture
def clock() -> Clock:
    made = Clock()
    assert not made.after(0.0)
    return made


def test_a_site_stays_while_its_last_answer_is_carried(clock: Clock) -> None:
    clock.server_is_there = False
    assert not clock.after(CARRIED_SECONDS - 1)
    assert clock.after(2.0)


def test_a_site_stays_while_the_server_may_ask_again(clock: Clock) -> None:
    assert not clock.after(CARRIED_SECONDS + 1)
    clock.server_is_there = False
    assert clock.after(0.5)


def test_a_question_that_comes_again_begins_the_wait_anew(clock: Clock) -> None:
    clock.server_is_there = False
    assert not clock.after(CARRIED_SECONDS + 1, messages=6)
    assert clock.after(CARRIED_SECONDS + 1, messages=6)


def test_nobody_waits_for_ever_for_a_server_that_stays(clock: Clock) -> None:
    assert not clock.after(SILENT_SECONDS)
    assert clock.after(1.0)


def test_a_port_without_a_listener_is_a_server_that_is_gone() -> None:
    assert not listens(LOOPBACK, free_port())
