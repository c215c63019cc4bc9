"""Logs: one line an event, whoever's words it repeats; no score, key or record."""

import json
import logging
from pathlib import Path

import pytest

from secure_sapefl.transport.logs import log_to, log_to_terminal


def test_logs_are_json_lines_that_name_round_and_site(tmp_path: Path) -> None:
    log = logging.getLogger("secure_sapefl.test")
    with log_to(tmp_path / "log"):
        log.info("answered", extra={"site": "north", "round": 2, "score": 0.7})
    log.info("nobody listens any more")
    (line,) = (tmp_path / "log").read_text().splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["site"], entry["round"], entry["level"]) == ("answered", "north", 2, "info")
    assert "score" not in entry


def test_people_get_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_terminal(json_lines=False):
        logging.getLogger("secure_sapefl.test").warning("a message was refused", extra={"site": "north"})
    assert "a message was refused (site=north)" in capsys.readouterr().err


def test_nobody_can_write_a_second_line_or_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = 'refused\n{"event": "forged"}\x1b[2J'
    with log_to(tmp_path / "log"), log_to_terminal(json_lines=False):
        logging.getLogger("secure_sapefl.test").error(nasty, extra={"site": "\x1b[2J"})
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert json.loads(line)["level"] == "error"
    (shown,) = capsys.readouterr().err.splitlines()
    assert shown.isprintable()


def test_a_long_event_is_cut(tmp_path: Path) -> None:
    with log_to(tmp_path / "log"):
        logging.getLogger("secure_sapefl.test").error("x" * 10_000)
    assert len(json.loads((tmp_path / "log").read_text())["event"]) == 2000


def test_a_full_log_is_put_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secure_sapefl.transport.logs.LARGEST_LOG", 200)
    with log_to(tmp_path / "log"):
        for number in range(20):
            logging.getLogger("secure_sapefl.test").error(f"event {number}")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["log", "log.1", "log.2", "log.3", "log.4", "log.5"]
    assert "event 19" in (tmp_path / "log").read_text()
