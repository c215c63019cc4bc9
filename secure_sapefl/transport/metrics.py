"""Prometheus metrics on a loopback port: how far, how many, how much; no score, no model, no record."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from secure_sapefl.errors import BadInput

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Status = Callable[[], Mapping[str, Any]]
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric: its name, its help, and its value by the published status; None where there is none. A mapping is a
    value for each site."""

    name: str
    text: str
    value: Callable[[Mapping[str, Any]], float | Mapping[str, float] | None]

    def family(self, status: Mapping[str, Any]) -> GaugeMetricFamily | None:
        match self.value(status):
            case None:
                return None
            case Mapping() as values:
                found = GaugeMetricFamily(self.name, self.text, labels=["site"])
                for site, value in values.items():
                    found.add_metric([site], float(value))
                return found
            case number:
                return GaugeMetricFamily(self.name, self.text, value=float(number))


def _every_site(field: str) -> Callable[[Mapping[str, Any]], Mapping[str, float]]:
    return lambda status: {site["site"]: site[field] for site in status["sites"]}


def _this_site(field: str) -> Callable[[Mapping[str, Any]], Mapping[str, float] | None]:
    return lambda status: None if status[field] is None else {status["site"]: status[field]}


def _certificate_end(status: Mapping[str, Any]) -> float | None:
    ends = status.get("certificate_ends")
    return None if ends is None else datetime.fromisoformat(ends).timestamp()


_CERTIFICATE: Final = Gauge(
    "sapefl_certificate_end_seconds",
    "When the first certificate of the line ends, in seconds since 1970; only with TLS.",
    _certificate_end,
)

SERVER_GAUGES: Final = (
    Gauge("sapefl_rounds", "Rounds of the study.", lambda status: status["rounds"]),
    Gauge("sapefl_rounds_closed", "Rounds that are closed.", lambda status: status["closed"]),
    Gauge("sapefl_finished", "1 once the study is over.", lambda status: status["finished"]),
    Gauge("sapefl_sites_waited_for", "Sites the open round waits for.", lambda status: len(status["waiting_for"])),
    Gauge(
        "sapefl_foreign_nodes",
        "Nodes that answered without a rostered key, or not at all.",
        lambda status: status["foreign_nodes"],
    ),
    _CERTIFICATE,
    Gauge("sapefl_site_online", "1 if the site answered lately.", _every_site("online")),
    Gauge("sapefl_site_absorbed_rounds", "Outcomes the site has.", _every_site("absorbed")),
    Gauge("sapefl_site_bytes_up", "Bytes that came from the site.", _every_site("bytes_up")),
    Gauge("sapefl_site_bytes_down", "Bytes that went to the site.", _every_site("bytes_down")),
    Gauge(
        "sapefl_site_rejected",
        "1 if the site rejected the last aggregate.",
        lambda status: {site["site"]: site["rejected"] is not None for site in status["sites"]},
    ),
)
SITE_GAUGES: Final = (
    Gauge("sapefl_rounds", "Rounds of the study.", _this_site("rounds")),
    Gauge("sapefl_site_absorbed_rounds", "Outcomes this site has.", _this_site("absorbed")),
    Gauge("sapefl_site_letters", "Messages answered since the start.", _this_site("letters")),
    Gauge("sapefl_site_refused_letters", "Messages refused since the start.", _this_site("refused_letters")),
    Gauge("sapefl_site_relay_restarts", "How often the relay was started again.", _this_site("relay_restarts")),
    Gauge(
        "sapefl_site_halted",
        "1 if this site takes part no more.",
        lambda status: {status["site"]: status["halted"] is not None},
    ),
    Gauge("sapefl_site_epsilon", "Privacy spent on this study; only in a private one.", _this_site("epsilon")),
    _CERTIFICATE,
)


class _FromStatus(Collector):
    def __init__(self, status: Status, gauges: Sequence[Gauge]) -> None:
        self._status, self._gauges = status, gauges

    def collect(self) -> Iterator[GaugeMetricFamily]:
        status = self._status()
        yield from filter(None, (gauge.family(status) for gauge in self._gauges))


class _Silent(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Scrapes are not events."""


@contextmanager
def metrics_on(port: int | None, status: Status, gauges: Sequence[Gauge]) -> Iterator[int | None]:
    """Serve ``gauges`` of ``status()`` on 127.0.0.1:``port`` (0 for any); nothing where no port was asked for."""
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
