"""Small runs the engine tests share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from secure_sapefl import Config
from secure_sapefl.engine.events import RoundClosed, RunEvent
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate

TINY = {
    "clients": 4,
    "rounds": 4,
    "kappa": 5.0,
    "local_epochs": 1,
    "protection": "plaintext",
    "workers": 0,
    "data_options": {"rows": 240, "classes": 3, "flip_y": 0.0},
}


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Config]:
    """A configuration that runs in a fraction of a second."""

    def make(**changes: Any) -> Config:
        return Config(**(TINY | changes))

    return make


@pytest.fixture(scope="session")
def numbers() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """All of a summary that must not change from one run to the same run again: everything but the time it took."""
    return lambda summary: {key: value for key, value in summary.items() if key not in ("seconds", "versions")}


class Stopped(Exception):
    """Stands for whatever ends a run from outside."""


@pytest.fixture(scope="session")
def stop_after() -> Callable[..., None]:
    """Begin a run and end it by an exception after some rounds have been saved."""

    def run(config: Config, out: Path, rounds: int) -> None:
        def stop(event: RunEvent) -> None:
            if isinstance(event, RoundClosed) and event.record.round_index + 1 == rounds:
                raise Stopped

        with pytest.raises(Stopped):
            simulate(config, out, observers=[stop])

    return run


@pytest.fixture(scope="session")
def whole(tiny: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """One uninterrupted plaintext run: its folder and its result."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return folder, simulate(tiny(), folder)
