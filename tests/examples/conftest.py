"""Examples as `python examples` finds them: their folder first on the path."""

import os
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.fixture
def data() -> None:
    if "SAPEFL_DATA" not in os.environ:
        pytest.skip("set SAPEFL_DATA to a folder that holds heart, har, pneumonia and blood")
