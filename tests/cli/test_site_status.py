"""`site status` for people and for scripts."""

import json
from pathlib import Path

from typer.testing import CliRunner

from secure_sapefl.cli.app import app

RUN = CliRunner()
AGENT = {
    "site": "north", "study": "heart", "digest": "b3ca825f" + "0" * 56, "rounds": 3, "absorbed": 2, "answered": 2,
    "halted": None, "over": False, "epsilon": 1.234, "letters": 3, "refused_letters": 0, "last_letter": None,
    "relay_restarts": 0, "device": "cuda:1", "pid": None,
}  # fmt: skip


def test_site_status_in_both_forms(tmp_path: Path) -> None:
    folder = tmp_path / "studies" / AGENT["digest"]
    folder.mkdir(parents=True)
    (folder / "status.json").write_text(json.dumps(AGENT | {"halted": "round 1: tags"}))
    shown = RUN.invoke(app, ["site", "status", "--home", str(tmp_path)]).output
    assert "2 of 3" in shown
    assert "halted" in shown
    assert "cuda:1" in " ".join(shown.split())
    (found,) = json.loads(RUN.invoke(app, ["site", "status", "--home", str(tmp_path), "--format", "json"]).output)
    assert found["running"] is False
    assert found["epsilon"] == AGENT["epsilon"]
