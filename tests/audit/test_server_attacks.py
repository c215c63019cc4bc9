"""The search for keys goes wherever a program could, and not into the rest of the interpreter."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from sapefl_crypto import CohortKey, Parameters
from secure_sapefl.audit.server_attacks import key_within_reach, reachable


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def use(self) -> object:
        return self.held


def waiting(held: object) -> Iterator[object]:
    yield 1
    yield held


def begun(held: object) -> Iterator[object]:
    generator = waiting(held)
    next(generator)
    return generator


HIDING: dict[str, Any] = {
    "itself": lambda one: one,
    "slot": Slotted,
    "bound method": lambda one: Slotted(one).use,
    "closure": lambda one: lambda: one,
    "default": lambda one: lambda _=one: None,
    "keyword default": lambda one: lambda *, _=one: None,
    "partial": lambda one: partial(print, one),
    "nested containers": lambda one: {"a": [({1: one},)]},
    "key of a dict": lambda one: {one: 1},
    "iterator": lambda one: iter([one]),
    "generator under way": begun,
    "built-in method": lambda one: [one].append,
    "closure in a slot": lambda one: Slotted(lambda: Slotted(one)),
}


@pytest.mark.parametrize("place", HIDING)
def test_what_is_hidden_is_found(place: str) -> None:
    treasure = Slotted("treasure")
    assert any(one is treasure for one in reachable(HIDING[place](treasure)))


GLOBAL = Slotted("in a module")


class Mould:
    kept = Slotted("in a class")


def function() -> Slotted:
    return GLOBAL


@pytest.mark.parametrize("root", [function, pytest, Mould, Mould()], ids=["globals", "module", "class", "its instance"])
def test_modules_classes_and_globals_are_not_entered(root: object) -> None:
    """They lead to everything that was ever imported, in a simulation to every site."""
    assert not any(one is GLOBAL or one is Mould.kept for one in reachable(root))


def test_every_object_is_met_once_and_circles_end() -> None:
    circle: list[object] = [1.5]
    circle += [circle, [circle, circle]]
    met = list(reachable(circle))
    assert sum(one is circle for one in met) == 1
    assert sum(one == 1.5 for one in met if isinstance(one, float)) == 1


def test_a_key_is_reported_and_its_absence_too() -> None:
    key = CohortKey.generate(Parameters(max_clients=2))
    assert key_within_reach(Slotted(lambda: key)) is key
    assert key_within_reach(Slotted(lambda: key.params)) is key, "a closure holds the whole key"
    assert key_within_reach(Slotted(key.params)) is None
