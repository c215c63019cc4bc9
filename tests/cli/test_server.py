"""`server status` for people and for scripts; and what is said before anything starts."""

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secure_sapefl.cli.app import app
from secure_sapefl.errors import BadInput

RUN = CliRunner()
SITE = {
    "site": "north", "online": True, "absorbed": 2, "answer": "sent", "rejected": None, "bytes_up": 258_818,
    "bytes_down": 442_775, "seconds_since_heard": 2.7,
}  # fmt: skip
SERVER = {
    "study": "heart", "digest": "b3ca825fc9c0510e" + "0" * 48, "rounds": 3, "closed": 2, "finished": False,
    "waiting_for": ["east"], "seconds_to_deadline": 10.0, "foreign_nodes": 0,
    "sites": [SITE, SITE | {"site": "east", "online": False, "rejected": "round 1: tags: off"}],
}  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "status.json").write_text(json.dumps(SERVER))
    return tmp_path


def test_server_status_as_a_table(state: Path) -> None:
    shown = RUN.invoke(app, ["server", "status", "--state", str(state)]).output
    assert "2 of 3 rounds closed, not running, waiting for east" in shown
    assert "0.26" in shown
    assert "rejected round 1" in " ".join(shown.split())


def test_what_the_committee_cost_is_said_where_there_is_one(tmp_path: Path) -> None:
    legs = {"attempt": 0, "seconds": 19.24, "bytes_of_shares": 248_400, "bytes_up": 126_000, "bytes_down": 256_000}
    last = {"sent": 4, "seconds": 24.0, "left_out": [], "committee": legs}
    (tmp_path / "status.json").write_text(json.dumps(SERVER | {"history": [last]}))
    shown = " ".join(RUN.invoke(app, ["server", "status", "--state", str(tmp_path)]).output.split())
    assert "legs took 19.2 of 24.0 s in the last round: 248 kB of shares with 4 uploads, 256 kB to its" in shown
    assert "126 kB from them" in shown


def test_server_status_as_json(state: Path) -> None:
    found = json.loads(RUN.invoke(app, ["server", "status", "--state", str(state), "--format", "json"]).output)
    assert found["sites"][0] == SITE
    assert found["running"] is False


def test_no_study_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="server start"):
        RUN.invoke(app, ["server", "status", "--state", str(tmp_path)], catch_exceptions=False)


def test_certificates_are_made_once(tmp_path: Path) -> None:
    arguments = ["server", "certificates", "--out", str(tmp_path / "tls"), "--host", "localhost"]
    assert "ca.pem" in RUN.invoke(app, arguments).output
    assert stat.S_IMODE((tmp_path / "tls" / "server.key").stat().st_mode) == 0o600
    assert RUN.invoke(app, arguments).exit_code != 0


def test_what_is_missing_is_said_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["server", "start", "--study", "s.toml", "--key", "k", "--listen", "nowhere"]
    with pytest.raises(BadInput, match="Cannot read"):
        RUN.invoke(app, arguments, catch_exceptions=False)
