"""Small tables, and an HTTP server that can misbehave."""

import http.server
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from secure_sapefl.data.prepare import as_given
from secure_sapefl.data.table import Table

REAL_DATA = Path(os.environ["SAPEFL_DATA"]) if os.environ.get("SAPEFL_DATA") else None


@pytest.fixture
def make_table() -> Callable[..., Table]:
    def make(labels: list[int], **columns: object) -> Table:
        y = np.array(labels, dtype=np.int64)
        X = np.arange(len(y), dtype=np.float32)[:, None]  # the value is the row number: a row can be recognised
        names = tuple(f"class {k}" for k in range(int(y.max()) + 1))
        return Table(X=X, y=y, class_names=names, source="made up", prepare=as_given, **columns)  # type: ignore[arg-type]

    return make


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """The folder of real datasets, or a skip that names the file the test misses."""

    def folder(file: str) -> Path:
        if REAL_DATA is None or not (REAL_DATA / file).exists():
            pytest.skip(f"needs the real {file} in SAPEFL_DATA")
        return REAL_DATA

    return folder


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's own cache, or finds data it did not ask for."""
    monkeypatch.delenv("SAPEFL_DATA", raising=False)
    monkeypatch.setenv("SAPEFL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@dataclass
class Site:
    """A server: files by path, faults to commit before serving them, and the requests it saw."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)  # answered first, one a request
    cut_after: list[int] = field(default_factory=list)  # bytes sent before the line drops, one a request
    ranges: list[str | None] = field(default_factory=list)
    resumable: bool = True


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            body = state.files.get(self.path.partition("?")[0])
            if state.statuses or body is None:
                self.send_error(state.statuses.pop(0) if state.statuses else 404)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and state.resumable else 0
            rest = body[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest[: state.cut_after.pop(0)] if state.cut_after else rest)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
