"""Prometheus text metrics on a loopback port: how far, how many, how much; no score, no model, no record.

The exposition format is https://prometheus.io/docs/instrumenting/exposition_formats/ (text, 0.0.4).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from secure_sapefl.errors import BadInput

Status = Callable[[], Mapping[str, Any]]


def server_metrics(status: Mapping[str, Any]) -> str:
    sites = status["sites"]
    return _text(
        ("sapefl_rounds", "Rounds of the study.", [({}, status["rounds"])]),
        ("sapefl_rounds_closed", "Rounds that are closed.", [({}, status["closed"])]),
        ("sapefl_finished", "1 once the study is over.", [({}, int(status["finished"]))]),
        ("sapefl_sites_waited_for", "Sites the open round waits for.", [({}, len(status["waiting_for"]))]),
        ("sapefl_foreign_nodes", "Nodes that answered without a rostered key, or not at all.",
         [({}, status["foreign_nodes"])]),
        ("sapefl_site_online", "1 if the site answered lately.", _each(sites, lambda s: int(s["online"]))),
        ("sapefl_site_absorbed_rounds", "Outcomes the site has.", _each(sites, lambda s: s["absorbed"])),
        ("sapefl_site_bytes_up", "Bytes that came from the site.", _each(sites, lambda s: s["bytes_up"])),
        ("sapefl_site_bytes_down", "Bytes that went to the site.", _each(sites, lambda s: s["bytes_down"])),
        ("sapefl_site_rejected", "1 if the site rejected the last aggregate.",
         _each(sites, lambda s: int(s["rejected"] is not None))),
    )  # fmt: skip


def site_metrics(status: Mapping[str, Any]) -> str:
    label = {"site": status["site"]}
    values = {
        "sapefl_rounds": ("Rounds of the study.", status["rounds"]),
        "sapefl_site_absorbed_rounds": ("Outcomes this site has.", status["absorbed"]),
        "sapefl_site_letters": ("Letters answered since the start.", status["letters"]),
        "sapefl_site_refused_letters": ("Letters refused since the start.", status["refused_letters"]),
        "sapefl_site_relay_restarts": ("How often the relay was started again.", status["relay_restarts"]),
        "sapefl_site_halted": ("1 if this site takes part no more.", int(status["halted"] is not None)),
    }
    if status["epsilon"] is not None:
        values["sapefl_site_epsilon"] = ("Privacy spent on this study.", status["epsilon"])
    return _text(*((name, text, [(label, value)]) for name, (text, value) in values.items()))


def _each(sites: Iterable[Mapping[str, Any]], value: Callable[[Mapping[str, Any]], float]) -> list[Any]:
    return [({"site": site["site"]}, value(site)) for site in sites]


def _text(*metrics: tuple[str, str, list[tuple[dict[str, str], float]]]) -> str:
    lines: list[str] = []
    for name, explanation, samples in metrics:
        lines += [f"# HELP {name} {explanation}", f"# TYPE {name} gauge"]
        for labels, value in samples:
            inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
            lines.append(f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}")
    return "\n".join(lines) + "\n"


@contextmanager
def metrics_on(port: int | None, status: Status, render: Callable[[Mapping[str, Any]], str]) -> Iterator[int | None]:
    """Serve ``render(status())`` on 127.0.0.1:``port`` (0 for any); nothing where no port was asked for."""
    if port is None:
        yield None
        return

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                body = render(status()).encode()
            except BadInput as error:
                self.send_error(503, explain=str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Scrapes are not events."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Page)
    except OSError as error:
        raise BadInput(f"Metrics cannot be served on port {port}: {error.strerror}. Choose another.") from None
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
