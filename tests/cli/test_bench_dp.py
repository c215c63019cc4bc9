"""`bench dp` from the outside."""

import json
from collections.abc import Callable

import pytest

from secure_sapefl.models.presets import Choice
from secure_sapefl.privacy import bench
from secure_sapefl.privacy.modules import bench as bench_modules

Cli = Callable[..., tuple[int, str, str]]


def test_bench_dp_says_whether_the_goal_is_met(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SETTINGS", {"tiny": ((6,), 3, "small")})
    monkeypatch.setattr(bench_modules, "MODULES", {"table": (Choice(name="table"), (6,))})
    code, out, err = cli("bench", "dp", "--batch-size", "4", "--repeats", "1", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert found["goal"]["met"] == (found["goal"]["measured"] <= 6)
    assert {step["model"] for step in found["steps"]} == {"tiny"}
    assert [(one["model"], one["used"]) for one in found["modules"]] == [("table", "ghost")]
