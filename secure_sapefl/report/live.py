"""The report of a run while it is being made, for a browser on the same machine.

Read-only and to be reached from this machine alone: the socket is bound to the loopback address; only GET and HEAD are
answered, and only for two addresses, neither of which names a file; a request that calls this server by another name
(DNS rebinding, where a foreign page has its own name resolved to 127.0.0.1) is turned away.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Protocol

from secure_sapefl.engine.events import Observer, RunEvent
from secure_sapefl.errors import SapeflError
from secure_sapefl.report.page import LiveStatus, render_page
from secure_sapefl.report.unfinished import RunSoFar, follow

_LOOPBACK = "127.0.0.1"
_WATCHED_SECONDS = 5.0  # a page asks every second; one that was silent for longer is closed
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page carries the rest of its policy itself
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Source(Protocol):
    """What is shown: a page, and a word that is cheap to ask for and changes whenever the page does."""

    def revision(self) -> str: ...

    def page(self) -> str: ...

    @property
    def over(self) -> bool: ...


class RunSource:
    """An observer of a simulation, drawn again only after a round and only when somebody looks."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._progress: RunSoFar | None = None
        self._drawing, self._drawn = Lock(), ("", "")

    def hear(self, event: RunEvent) -> None:
        self._progress = follow(self._progress, event)

    @property
    def over(self) -> bool:
        return self._progress is not None and self._progress.over

    def revision(self) -> str:
        return _revision(self._progress)

    def page(self) -> str:
        with self._drawing:
            progress = self._progress
            if self._drawn[0] != _revision(progress):
                self._drawn = (_revision(progress), self._render(progress))
            return self._drawn[1]

    def _render(self, progress: RunSoFar | None) -> str:
        if progress is None:
            status = LiveStatus(revision=_revision(None), sentence="The run is being prepared.", over=False)
            return render_page([], status, self._label)
        run, config = progress.run(self._label), progress.config
        done = f"Round {len(progress.result.rounds)} of {config.rounds} is done."
        status = LiveStatus(
            revision=_revision(progress),
            sentence="The run is over." if progress.over else done,
            over=progress.over,
        )
        return render_page([] if run is None else [run], status, f"{config.method} on {config.dataset}")


def _revision(progress: RunSoFar | None) -> str:
    return "preparing" if progress is None else f"{len(progress.result.rounds)}{'-over' if progress.over else ''}"


@contextmanager
def serve_live(label: str) -> Iterator[tuple[str, Observer]]:
    """Serve the report of a simulation until the block ends; yields the address, and the observer to give to the run:

    with serve_live("my run") as (address, observer):
        simulate(config, observers=[observer])
    """
    source = RunSource(label)
    with serve(source) as address:
        yield address, source.hear


@contextmanager
def serve(source: Source) -> Iterator[str]:
    """Serve any source of pages, on a free port. A page that is open at the end gets its last state before we go."""
    server = _Server(source)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield server.address
        server.wait_for_watchers()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, source: Source) -> None:
        super().__init__((_LOOPBACK, 0), _Handler)
        self.source = source
        self.names = {f"{name}:{self.server_port}" for name in (_LOOPBACK, "localhost")}
        self.address = f"http://{_LOOPBACK}:{self.server_port}/"
        self.asked_at: float | None = None
        self.showed_the_end = Event()

    def wait_for_watchers(self) -> None:
        if self.asked_at is not None and time.monotonic() - self.asked_at < _WATCHED_SECONDS:
            self.showed_the_end.wait(_WATCHED_SECONDS)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        try:
            self._answer()
        except SapeflError as error:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    do_HEAD = do_GET

    def _answer(self) -> None:
        source = self.server.source
        if self.headers.get("Host") not in self.server.names:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, f"This server has one address: {self.server.address}")
        elif self.path == "/":
            over = source.over
            self._send(HTTPStatus.OK, source.page(), "text/html")
            if over:
                self.server.showed_the_end.set()
        elif self.path == "/revision":
            self.server.asked_at = time.monotonic()
            self._send(HTTPStatus.OK, source.revision())
        else:
            self._send(HTTPStatus.NOT_FOUND, f"There is only {self.server.address}")

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        return "secure-sapefl"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: stderr belongs to the progress of the run."""
