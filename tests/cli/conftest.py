"""The command as a shell sees it, and tables the experiments read.

Typer 0.20, which Flower pins, imports names that Click 8.5 calls deprecated. Only that import is excused here.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'click", DeprecationWarning)
    import typer  # noqa: F401


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Answer]:
    """``secure-sapefl ...`` without the seconds it takes to start, in an empty folder."""
    from secure_sapefl.cli.app import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["secure-sapefl", *arguments])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        return Answer(int(exit_.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def hospitals(cli: Callable[..., Answer]) -> Path:
    """A table of three hospitals of unequal size."""
    rng, sizes = np.random.default_rng(0), {"amber": 40, "birch": 30, "cedar": 20}
    rows = [
        f"{hospital},{age:.2f},{pressure:.2f},{'ill' if age > 0 else 'well'}"
        for hospital, size in sizes.items()
        for age, pressure in rng.normal(size=(size, 2))
    ]
    Path("patients.csv").write_text("\n".join(["hospital,age,pressure,outcome", *rows]) + "\n", encoding="utf-8")
    return Path("patients.csv")
