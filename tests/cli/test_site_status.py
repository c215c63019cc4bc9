"""`site status` for people and for scripts."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.cli.site_status import own_model

RUN = CliRunner()
AGENT = {
    "site": "north", "study": "heart", "digest": "b3ca825f" + "0" * 56, "rounds": 3, "absorbed": 2, "answered": 2,
    "halted": None, "over": False, "epsilon": 1.234, "letters": 3, "refused_letters": 0, "last_letter": None,
    "relay_restarts": 0, "device": "cuda:1", "pid": None,
}  # fmt: skip


def test_site_status_in_both_forms(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / AGENT["digest"]
    folder.mkdir(parents=True)
    smaller = "epsilon_shared 0.9, m = 4, t = 1"
    (folder / "status.json").write_text(json.dumps(AGENT | {"halted": "round 1: tags", "in_sums": smaller}))
    shown = RUN.invoke(app, ["site", "status", "--home", str(tmp_path)]).output
    assert "2 of 3" in shown
    assert "halted" in shown
    assert "cuda:1" in " ".join(shown.split())
    assert f"heart b3ca825f: {smaller}; the epsilon above if everybody else conspires" in " ".join(shown.split())
    (found,) = json.loads(RUN.invoke(app, ["site", "status", "--home", str(tmp_path), "--format", "json"]).output)
    assert found["running"] is False
    assert found["epsilon"] == AGENT["epsilon"]


@pytest.mark.parametrize(
    ("judged", "shown"),
    [
        (None, "not judged yet"),
        ({"round": 0, "rows": 0, "own": {"accuracy": None, "auc": None}}, "no test rows"),
        (
            {"round": 1, "rows": 24, "own": {"accuracy": 0.75, "auc": 0.8125}},
            "75.0% of 24 test rows, AUC 0.812,",
        ),
        ({"round": 1, "rows": 24, "own": {"accuracy": 0.75, "auc": None}}, "75.0% of 24 test rows, after round 2"),
    ],
)
def test_how_good_the_own_model_is(judged: dict[str, Any] | None, shown: str) -> None:
    assert shown in own_model(judged)


def test_a_certificate_that_ends_soon_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / AGENT["digest"]
    folder.mkdir(parents=True)
    for over in (False, True):
        (folder / "status.json").write_text(json.dumps(AGENT | {"over": over, "certificate_ends": "2020-01-01T00:00Z"}))
        shown = RUN.invoke(app, ["site", "status", "--home", str(tmp_path)]).stderr
        assert ("ended on 2020-01-01" in shown) != over


def test_what_keeps_carried_code_in_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / AGENT["digest"]
    folder.mkdir(parents=True)
    code = {"sha256": "5d" * 32, "holds": ["files", "network"]}
    (folder / "status.json").write_text(json.dumps(AGENT | {"carried_code": code}))
    shown = RUN.invoke(app, ["site", "status", "--home", str(tmp_path)], env={"COLUMNS": "300"}).output
    assert "taking part; carried code 5d5d5d5d, holds: files, network" in shown
