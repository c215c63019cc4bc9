"""The page of a study's server: what it publishes and nothing more, safe against what a site calls itself."""

import copy
import re

import pytest

from secure_sapefl.cli.live import server_view
from secure_sapefl.errors import BadInput
from secure_sapefl.report.live import serve
from secure_sapefl.report.server_live import ServerSource

SITE = {
    "site": "north",
    "online": True,
    "absorbed": 2,
    "answer": "here",
    "rejected": None,
    "bytes_up": 1_234_000,
    "bytes_down": 5_600,
    "seconds_since_heard": 0.5,
}
STATUS = {
    "study": "heart",
    "digest": "ab" * 32,
    "rounds": 5,
    "closed": 2,
    "history": [
        {"sent": 2, "seconds": 61.0, "left_out": []},
        {"sent": 1, "seconds": 0.5, "left_out": [{"site": "south", "reason": "did not answer before the deadline."}]},
    ],
    "finished": False,
    "waiting_for": ["south"],
    "seconds_to_deadline": 12.5,
    "sites": [SITE, {**SITE, "site": "south", "online": False, "rejected": "round 1: the tags do not fit"}],
    "foreign_nodes": 0,
    "running": True,
}


@pytest.fixture
def status():
    return copy.deepcopy(STATUS)


@pytest.fixture
def source(status):
    return ServerSource(lambda: status)


def test_the_page_shows_rounds_sites_and_bytes(source):
    html = source.page()
    assert "<h1>Study heart</h1>" in html
    assert ">Round 2 of 5 is closed.</p>" in html
    assert "<dd>1 of 2</dd>" in html
    assert "<dd>south</dd>" in html
    assert ">1.23 MB</td>" in html
    assert "the tags do not fit" in html
    assert "--share: 40.0%" in html
    assert "<title>Study heart · secure-sapefl server</title>" in html


def test_rounds_come_newest_first_and_name_whom_they_left_out(source, status):
    rounds = source.page().partition("<h3>Rounds</h3>")[2]
    assert re.findall(r'<th scope="row" data-value="(\d)">', rounds) == ["2", "1"]
    assert re.findall(r"<td>(.*?)</td>", rounds) == ["south: did not answer before the deadline.", "nobody"]
    assert re.findall(r">([\d.]+ m?s)</td>", rounds) == ["500 ms", "61.0 s"]
    assert re.findall(r"--share: ([\d.]+%)", rounds) == ["50.0%", "100.0%"]
    status["history"] = []
    assert "No round is closed yet." in source.page()


def test_seconds_alone_are_no_news(source, status):
    before = source.revision()
    status["seconds_to_deadline"] = 1.0
    status["sites"][0]["seconds_since_heard"] = 99.0
    assert source.revision() == before
    status["sites"][0]["absorbed"] = 3
    assert source.revision() != before


def test_the_end(source, status):
    assert not source.over
    status["finished"] = True
    assert source.over
    assert source.revision().endswith("-over")
    assert ">The study is over.</p>" in source.page()


def test_before_the_first_status_it_waits():
    def nothing():
        raise BadInput("no running study")

    source = ServerSource(nothing)
    assert not source.over
    assert "Waiting for the server." in source.page()
    assert "has not said anything yet" in source.page()


def test_a_name_cannot_become_markup(source, status):
    status["sites"][0]["site"] = "<script>alert(1)</script>"
    status["study"] = "<img src=x onerror=alert(1)>"
    status["sites"][1]["answer"] = "\x00<b>"
    status["history"][1]["left_out"][0]["reason"] = "<b>why</b>"
    html = source.page()
    assert html.count("<script>") == 1
    assert "<img" not in html
    assert "<b>" not in html


def test_it_is_served_only_where_it_is_wanted(status, capsys):
    with server_view(False, lambda: status):
        pass
    assert capsys.readouterr().err == ""
    with server_view(True, lambda: status):
        assert "Live: http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.slow
def test_a_browser_sees_the_study_end(status, browse):
    asked = []

    def read():
        asked.append(1)
        if len(asked) > 8:
            status["finished"] = True
        return status

    with serve(ServerSource(read)) as address:
        html = browse(address)
    assert ">The study is over.</p>" in html
    assert html.count('<button type="button">') == 10
