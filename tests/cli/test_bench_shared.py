"""`bench shared-noise` from the outside."""

import json
from collections.abc import Callable

import pytest

from secure_sapefl.experiments import bench_shared
from secure_sapefl.experiments.bench_shared import StepRow

Cli = Callable[..., tuple[int, str, str]]
ROW = StepRow(way="joint keys", seconds=0.25, up=93_000.0, down=91_000.0, study_seconds=50.0, accuracy=0.1)


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_shared, "shared_steps", lambda *_: iter([ROW]))


def test_seconds_and_bytes_are_shown(cli: Cli) -> None:
    code, out, _ = cli("bench", "shared-noise", "--clients", "5", "--steps", "200")
    assert code == 0
    assert "5 sites, 200 steps, 11,594 parameters" in out
    assert all(number in out for number in ("0.250", "93.0", "91.0", "50.0"))


def test_for_programs(cli: Cli) -> None:
    code, out, _ = cli("bench", "shared-noise", "--format", "json")
    assert code == 0
    assert json.loads(out)["ways"][0]["up"] == 93_000.0
