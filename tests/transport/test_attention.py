"""A node asks again soon after a message, and as seldom as Flower's own when there is none for long."""

import ast
import importlib
import inspect

import pytest

from secure_sapefl.transport import attention, ending
from secure_sapefl.transport.attention import Pauses


class Clock:
    """Time passes while somebody waits."""

    def __init__(self) -> None:
        self.now, self.waited = 100.0, list[float]()

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.waited.append(seconds)


def test_a_pause_is_a_fifth_of_the_time_in_which_nothing_came() -> None:
    clock = Clock()
    pauses = Pauses(lambda: clock.now, clock.wait)
    for _ in range(60):
        pauses.sleep(3)
    assert clock.waited[:3] == [0.4, 0.4, 0.4]
    assert clock.waited[-1] == 3
    after_ten = next(i for i in range(60) if sum(clock.waited[:i]) >= 10)
    assert clock.waited[after_ten] == pytest.approx(sum(clock.waited[:after_ten]) / 5)


def test_a_message_in_work_is_waited_for_briefly_and_the_next_one_looked_for_at_once() -> None:
    clock = Clock()
    pauses = Pauses(lambda: clock.now, clock.wait)
    clock.now += 1000
    pauses.sleep(3)
    pauses.sleep(0.5)
    pauses.sleep(3)
    assert clock.waited == [3, 0.1, 0.4]


def test_flower_s_loop_pauses_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release of Flower may pause by other means: then this has to be written anew."""
    loop = importlib.import_module("flwr.supernode.start_client_internal")
    uses = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(loop)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
    ]
    assert {node.attr for node in uses} == {"sleep"}
    monkeypatch.setattr(loop, "time", loop.time)  # to be put back
    monkeypatch.setattr(ending, "main", lambda: None)
    attention.main()
    assert isinstance(loop.time, Pauses)
