"""`figures` from the outside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = ("--data-option", "rows=60", "--data-option", "classes=3")
TINY = ("--clients", "2", "--rounds", "1", "--seeds", "1", "--local-epochs", "1", "--jobs", "1", "--out", "out")
PNG = b"\x89PNG"
Cli = Callable[..., Any]


@pytest.mark.parametrize("figure", ["trajectories", "weak-clients"])
def test_figures(cli: Cli, figure: str) -> None:
    answer = cli("figures", figure, *TINY, *DATA)
    assert answer.code == 0, answer.err
    for suffix in ("md", "csv", "json"):
        assert Path(f"out/{figure}.{suffix}").stat().st_size
    assert Path(f"out/{figure}.png").read_bytes().startswith(PNG)
