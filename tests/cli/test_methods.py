"""`methods` lists what the registry has, with the defaults the methods really take."""

import json
from collections.abc import Callable
from typing import Any

from secure_sapefl.algorithms.registry import ALGORITHMS


def test_json_has_every_method_with_options_that_are_accepted(cli: Callable[..., Any]) -> None:
    found = {one["name"]: one for one in json.loads(cli("methods", "--format", "json").out)}
    assert list(found) == list(ALGORITHMS)
    for name, one in found.items():
        assert ALGORITHMS[name].options.read(one["options"], name) == ALGORITHMS[name].options()
    assert found["sapefl"]["options"]["influence"] == 0.5
    assert found["local"]["server"] == ALGORITHMS["local"].homomorphic.value


def test_the_table_names_them(cli: Callable[..., Any]) -> None:
    shown = cli("methods").out
    assert all(name in shown for name in ALGORITHMS)
    assert "influence = 0.5" in shown
