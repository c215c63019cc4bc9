"""Studies whose sites count."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.counting_study import CountingWorld


@pytest.fixture
def made(world: Callable[..., Any]) -> Iterator[Callable[..., CountingWorld]]:
    """``made(preparation="common")``: any field of the study file."""
    worlds: list[CountingWorld] = []

    def build(**fields: Any) -> CountingWorld:
        worlds.append(CountingWorld.made(world, **fields))
        return worlds[-1]

    yield build
    for one in worlds:
        one.close()
