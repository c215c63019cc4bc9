"""`site start` says what is missing before anything starts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--server", "nowhere", "--without-tls"), "HOST:PORT"),
        (("--server", "h:1"), "how the line is protected"),
        (("--server", "h:1", "--ca", "ca.pem", "--without-tls"), "how the line is protected"),
        (("--server", "h:1", "--without-tls"), "Cannot read"),
    ],
    ids=["address", "no tls", "both", "study"],
)
def test_what_is_missing_is_said_and_nothing_is_made(
    cli: Callable[..., Any], arguments: tuple[str, ...], said: str
) -> None:
    answer = cli("site", "start", "--study", "s.toml", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert not list(Path().iterdir())


def test_help_has_a_worked_example(cli: Callable[..., Any]) -> None:
    assert "secure-sapefl site start --study study.toml --server" in cli("site", "start", "--help").out
