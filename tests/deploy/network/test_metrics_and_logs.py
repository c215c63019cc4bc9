"""What a site or server tells the outside: progress, never a score, a key or a record."""

import json
import logging
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from secure_sapefl.errors import BadInput
from secure_sapefl.transport.logs import log_to, log_to_terminal
from secure_sapefl.transport.metrics import metrics_on, server_metrics, site_metrics

SITE = {
    "site": "north", "rounds": 3, "absorbed": 2, "letters": 5, "refused_letters": 1, "relay_restarts": 0,
    "halted": None, "epsilon": 1.5,
}  # fmt: skip
SERVER = {
    "rounds": 3, "closed": 1, "finished": False, "waiting_for": ["north"], "foreign_nodes": 0,
    "sites": [
        {"site": "north", "online": True, "absorbed": 1, "bytes_up": 10, "bytes_down": 20, "rejected": "round 0: tags"}
    ],
}  # fmt: skip


def test_metrics_are_prometheus_text() -> None:
    text = server_metrics(SERVER)
    assert 'sapefl_site_bytes_up{site="north"} 10\n' in text
    assert 'sapefl_site_rejected{site="north"} 1\n' in text
    assert "sapefl_rounds_closed 1\n" in text
    assert 'sapefl_site_epsilon{site="north"} 1.5\n' in site_metrics(SITE)
    assert "epsilon" not in site_metrics(SITE | {"epsilon": None})
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2


def test_metrics_are_served_on_loopback_only_while_asked_for() -> None:
    with metrics_on(0, lambda: SITE, site_metrics) as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"sapefl_rounds" in page.read()
        with pytest.raises(BadInput, match="Choose another"), metrics_on(port, lambda: SITE, site_metrics):
            pass
    with metrics_on(None, lambda: SITE, site_metrics) as nothing:
        assert nothing is None


def test_before_there_is_a_status_metrics_say_so() -> None:
    def nothing_yet() -> dict[str, object]:
        raise BadInput("not started")

    with metrics_on(0, nothing_yet, site_metrics) as port, pytest.raises(HTTPError, match="503"):
        urlopen(f"http://127.0.0.1:{port}/metrics")


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
        logging.getLogger("secure_sapefl.test").warning("a letter was refused", extra={"site": "north"})
    assert "a letter was refused (site=north)" in capsys.readouterr().err
