"""Prometheus metrics on a loopback port: how far, how many, how much; no score, no model, no record."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Status = Callable[[], Mapping[str, Any]]
Gauges = Iterator[GaugeMetricFamily]
_LOOPBACK = "127.0.0.1"
_BY_SITE = (
    ("sapefl_site_online", "1 if the site answered lately.", "online"),
    ("sapefl_site_absorbed_rounds", "Outcomes the site has.", "absorbed"),
    ("sapefl_site_bytes_up", "Bytes that came from the site.", "bytes_up"),
    ("sapefl_site_bytes_down", "Bytes that went to the site.", "bytes_down"),
)


def server_metrics(status: Mapping[str, Any]) -> Gauges:
    yield _gauge("sapefl_rounds", "Rounds of the study.", status["rounds"])
    yield _gauge("sapefl_rounds_closed", "Rounds that are closed.", status["closed"])
    yield _gauge("sapefl_finished", "1 once the study is over.", status["finished"])
    yield _gauge("sapefl_sites_waited_for", "Sites the open round waits for.", len(status["waiting_for"]))
    yield _gauge(
        "sapefl_foreign_nodes", "Nodes that answered without a rostered key, or not at all.", status["foreign_nodes"]
    )
    sites = status["sites"]
    for name, text, field in _BY_SITE:
        yield _by_site(name, text, {site["site"]: site[field] for site in sites})
    rejected = {site["site"]: site["rejected"] is not None for site in sites}
    yield _by_site("sapefl_site_rejected", "1 if the site rejected the last aggregate.", rejected)


def site_metrics(status: Mapping[str, Any]) -> Gauges:
    values = {
        "sapefl_rounds": ("Rounds of the study.", status["rounds"]),
        "sapefl_site_absorbed_rounds": ("Outcomes this site has.", status["absorbed"]),
        "sapefl_site_letters": ("Messages answered since the start.", status["letters"]),
        "sapefl_site_refused_letters": ("Messages refused since the start.", status["refused_letters"]),
        "sapefl_site_relay_restarts": ("How often the relay was started again.", status["relay_restarts"]),
        "sapefl_site_halted": ("1 if this site takes part no more.", status["halted"] is not None),
    }
    if status["epsilon"] is not None:
        values["sapefl_site_epsilon"] = ("Privacy spent on this study.", status["epsilon"])
    for name, (text, value) in values.items():
        yield _by_site(name, text, {status["site"]: value})


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))


def _by_site(name: str, text: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, text, labels=["site"])
    for site, value in values.items():
        gauge.add_metric([site], float(value))
    return gauge


class _FromStatus(Collector):
    def __init__(self, status: Status, gauges: Callable[[Mapping[str, Any]], Gauges]) -> None:
        self._status, self._gauges = status, gauges

    def collect(self) -> Gauges:
        yield from self._gauges(self._status())


class _Silent(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Scrapes are not events."""


@contextmanager
def metrics_on(port: int | None, status: Status, gauges: Callable[[Mapping[str, Any]], Gauges]) -> Iterator[int | None]:
    """Serve ``gauges(status())`` on 127.0.0.1:``port`` (0 for any); nothing where no port was asked for."""
    if port is None:
        yield None
        return
    registry = CollectorRegistry()  # not the library's own, which tells of this process's memory and Python
    registry.register(_FromStatus(status, gauges))
    try:
        server = make_server(_LOOPBACK, port, _page(registry), ThreadingWSGIServer, _Silent)
    except OSError as error:
        raise BadInput(f"Metrics cannot be served on port {port}: {error.strerror}. Choose another.") from None
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _page(registry: CollectorRegistry) -> "WSGIApplication":
    metrics: WSGIApplication = make_wsgi_app(registry)

    def page(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        try:
            return metrics(environ, start_response)
        except BadInput as error:  # before there is a status
            unavailable = HTTPStatus.SERVICE_UNAVAILABLE
            start_response(f"{unavailable} {unavailable.phrase}", [("Content-Type", "text/plain; charset=utf-8")])
            return [str(error).encode()]

    return page
