"""The command as a shell sees it, and tables the experiments read."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.unrendered import unrendered

__all__ = ["unrendered"]


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
        f"{hospital},{age:.2f},{pressure:.2f},{'ill' if age + pressure > 0 else 'well'}"
        for hospital, size in sizes.items()
        for age, pressure in rng.normal(size=(size, 2))
    ]
    Path("patients.csv").write_text("\n".join(["hospital,age,pressure,outcome", *rows]) + "\n", encoding="utf-8")
    return Path("patients.csv")


@pytest.fixture
def keys(cli: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """``secure-sapefl keys ...`` with passphrases that cost nothing to check."""
    from sapefl_crypto.keys import keyfile

    monkeypatch.setattr(keyfile, "_SCRYPT_COST", 2)  # private: no caller may choose it
    monkeypatch.delenv("SAPEFL_PASSPHRASE", raising=False)
    return lambda *arguments: cli("keys", *map(str, arguments))


@pytest.fixture
def two_sites(keys: Callable[..., Answer]) -> None:
    for name in "ab":
        assert keys("site", "--name", name, "--out", f"{name}.key").code == 0


@pytest.fixture
def sealed(keys: Callable[..., Answer], two_sites: None) -> str:
    answer = keys("cohort", "--study", "heart", "--for", "a.pub", "--for", "b.pub", "--out", "sealed")
    assert answer.code == 0
    return answer.out
