"""The live page over a real socket: what it answers, what it refuses, and a browser that sees a round arrive."""

import socket
import threading
from contextlib import closing
from dataclasses import replace
from html import unescape
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.events import RoundClosed, RunBegun, RunEnded
from secure_sapefl.engine.result import Result
from secure_sapefl.engine.simulator import simulate
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.study import Study
from secure_sapefl.report import live, view
from secure_sapefl.report.live import RunSource, serve, serve_live
from secure_sapefl.report.page import LiveStatus, render_page

FACTS = {
    "method": "sapefl",
    "dataset": "synthetic",
    "source": "by hand",
    "partition": "iid",
    "clients": 3,
    "client_names": ["Anna", "Bert", "Cleo"],
    "client_rows": [5, 6, 7],
    "seed": 0,
    "protection": "ckks",
    "device": "cpu",
    "versions": {"secure-sapefl": "0"},
    "rounds": 2,
}


class Words:
    """A source that shows one word; ``over`` as the test says."""

    def __init__(self, word="first", over=False):
        self.word, self.over = word, over

    def revision(self):
        return self.word + ("-over" if self.over else "")

    def page(self):
        return f"<h1>{self.word}</h1>"


@pytest.fixture
def source():
    return Words()


def request(address, path="/", method="GET", host=None):
    """Status, headers and body; ``host`` is what the request calls the server."""
    netloc = urlsplit(address).netloc
    with closing(HTTPConnection(netloc, timeout=10)) as connection:
        connection.request(method, path, headers={"Host": host or netloc})
        answer = connection.getresponse()
        return answer, answer.read().decode()


@pytest.fixture
def no_waiting(monkeypatch):
    """Nobody watches these servers to the end."""
    monkeypatch.setattr(live, "_WATCHED_SECONDS", 0.0)


@pytest.fixture
def ask(source, no_waiting):
    """Asks a server that is really listening."""
    with serve(source) as address:

        def send(*arguments, **options):
            return request(address, *arguments, **options)

        send.port = urlsplit(address).port
        yield send


def test_the_page_and_its_revision(ask, source):
    answer, body = ask()
    assert (answer.status, answer.headers["Content-Type"], body) == (200, "text/html; charset=utf-8", "<h1>first</h1>")
    assert ask("/revision")[1] == "first"
    source.word = "second"
    assert (ask("/revision")[1], ask()[1]) == ("second", "<h1>second</h1>")


def test_head_gives_headers_alone(ask):
    answer, body = ask(method="HEAD")
    assert (answer.status, answer.headers["Content-Length"], body) == (200, "14", "")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"])
def test_nothing_can_be_changed(ask, method):
    assert ask(method=method)[0].status == 501


@pytest.mark.parametrize(
    "path",
    ["/../etc/passwd", "/%2e%2e/summary.json", "/config.toml", "/checkpoint/state.pt", "/?x", "/revision/"],
)
def test_no_other_address_exists(ask, path):
    answer, body = ask(path)
    assert answer.status == 404
    assert "first" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}"])
def test_a_request_under_another_name_is_turned_away(ask, host):
    """DNS rebinding: a foreign page may make its own name point here, but not change what the browser calls us."""
    answer, body = ask(host=host.format(port=ask.port))
    assert answer.status == 421
    assert "first" not in body
    assert ask(host=f"localhost:{ask.port}")[0].status == 200


def test_a_request_without_a_name_is_turned_away(ask):
    with socket.create_connection(("127.0.0.1", ask.port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 421 " in plain.recv(4096).split(b"\r\n")[0]


def test_only_this_machine_is_listened_to(ask):
    with pytest.raises(OSError, match=r".+"), socket.create_connection(("127.0.0.2", ask.port), timeout=10):
        pass


def test_answers_are_not_kept_framed_or_read_across_origins(ask):
    headers = ask()[0].headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]


def test_a_page_that_cannot_be_made_is_a_sentence(ask, source, monkeypatch):
    def fail():
        raise BadInput("the folder is gone.")

    monkeypatch.setattr(source, "page", fail)
    answer, body = ask()
    assert (answer.status, body) == (503, "the folder is gone.")


def test_the_server_ends_with_the_block(source):
    with serve(source) as address:
        pass
    with pytest.raises(ConnectionRefusedError):
        request(address)


def test_an_open_page_gets_the_end_before_the_server_goes(source):
    """A watcher that asked a moment ago fetches the last page from a second thread while the block is being left."""
    seen = []
    with serve(source) as address:
        request(address, "/revision")
        source.word, source.over = "last", True
        late = threading.Timer(0.3, lambda: seen.append(request(address)[1]))
        late.start()
    late.join()
    assert seen == ["<h1>last</h1>"]


def test_a_failure_inside_is_not_delayed(source, monkeypatch):
    monkeypatch.setattr(live._Server, "wait_for_watchers", lambda self: pytest.fail("waited"))
    with pytest.raises(KeyboardInterrupt), serve(source):
        raise KeyboardInterrupt


@pytest.fixture
def growing(make_run):
    """A run that has not begun; call it to let it begin, close a round, or end."""
    whole, source = make_run(rounds=2), RunSource("growing")
    so_far = Result(facts=FACTS, parameters=100, rounds=())
    study = Study(name="s", sites=("Anna", "Bert", "Cleo"), participation=1.0, seed=0, parameters=100, max_score=1.0)
    coming = [
        RunBegun(config=whole.config, study=study, so_far=so_far),
        *(RoundClosed(record=record, similarity_matrix=[]) for record in whole.rounds),
        RunEnded(result=replace(so_far, rounds=whole.rounds)),
    ]

    def grow():
        source.hear(coming.pop(0))

    grow.source = source
    return grow


def test_a_run_is_followed_from_nothing_to_its_end(growing, monkeypatch):
    monkeypatch.setattr(view, "to_svg", lambda chart, prefix: "<svg></svg>")
    source = growing.source
    revisions, pages = [source.revision()], [source.page()]
    for _ in range(4):
        growing()
        revisions.append(source.revision())
        pages.append(source.page())
    assert len(set(revisions)) == 5
    rounds = [f"Round {done} of 2 is done." for done in range(3)]
    sentences = ["The run is being prepared.", *rounds, "The run is over."]
    for sentence, revision, page in zip(sentences, revisions, pages, strict=True):
        assert f'data-revision="{revision}">{sentence}</p>' in page
    assert ["Numbers appear here" in page for page in pages] == [True, True, False, False, False]
    assert [source.over, "<noscript>" in pages[3], "<noscript>" in pages[4]] == [True, True, False]


def test_a_page_is_drawn_once_a_round(growing, monkeypatch):
    drawn = []
    monkeypatch.setattr(live, "render_page", lambda runs, status, title: drawn.append(status.revision) or "page")
    for _ in range(3):
        growing.source.page()
    growing()
    growing.source.page()
    assert len(drawn) == 2


def test_a_finished_page_asks_nobody_anything(make_run):
    status = LiveStatus(revision="1", sentence="now", over=False)
    alive, still = unescape(render_page([make_run()], status)), unescape(render_page([make_run()]))
    assert "connect-src 'self'" in alive
    assert "connect-src 'none'" in still
    assert "fetch(" in alive
    assert "fetch(" not in still


@pytest.mark.slow
def test_a_browser_sees_rounds_arrive(growing, browse):
    """Virtual time: the page's seconds pass as fast as its requests are answered."""
    source = growing.source
    ask, asked = source.revision, []

    def revision():
        asked.append(1)
        if len(asked) in (3, 6, 9, 12):
            growing()
        return ask()

    source.revision = revision
    with serve(source) as address:
        html = browse(address)
    assert ">The run is over.</p>" in html
    assert "SAPE-FL on synthetic" in html
    assert html.count('<button type="button">') == 5


@pytest.mark.slow
def test_what_a_reader_chose_survives_an_update(growing, browse, monkeypatch):
    """Sorted, filtered and opened by hand, then a round arrives."""
    growing()
    growing()
    chosen = """<script>
        const headers = document.querySelectorAll("#run-1-sites th button");
        headers[2].click(); headers[2].click();
        const search = document.querySelector(".tools input");
        search.value = "e"; search.dispatchEvent(new Event("input", { bubbles: true })); search.focus();
        document.querySelectorAll("details")[1].open = true;
        </script></body>"""
    render = live.render_page

    def lifted(runs, status, title):  # the page forbids scripts that are not its own; this one plays the reader
        html = render(runs, status, title)
        start, end = html.index("<meta http-equiv"), html.index("<title>")
        html = html[:start] + html[end:]
        return html.replace("</body>", chosen) if len(runs[0].rounds) == 1 else html

    monkeypatch.setattr(live, "render_page", lifted)
    source = growing.source
    ask, asked = source.revision, []

    def revision():
        asked.append(1)
        if len(asked) in (4, 6):
            growing()
        return ask()

    source.revision = revision
    with serve(source) as address:
        html = browse(address)
    assert ">The run is over.</p>" in html
    assert 'aria-sort="descending"' in html
    assert "2 of 3 sites" in html
    assert html.count("<details open") == 1


@pytest.mark.usefixtures("no_waiting")
def test_an_address_and_an_observer_are_yielded():
    config = Config(clients=3, rounds=1, rows=120, local_epochs=1, workers=0, protection="plaintext")
    with serve_live("mine") as (address, observer):
        before = request(address, "/revision")[1]
        simulate(config, observers=[observer])
        assert (before, request(address, "/revision")[1]) == ("preparing", "1-over")
