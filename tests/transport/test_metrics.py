"""What a site or server tells the outside: progress, never a score, a key or a record."""

from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from secure_sapefl.errors import BadInput
from secure_sapefl.transport.metrics import (
    SERVER_GAUGES,
    SITE_GAUGES,
    Gauge,
    metrics_on,
)

SITE = {
    "site": "north", "rounds": 3, "absorbed": 2, "letters": 5, "refused_letters": 1, "relay_restarts": 0,
    "halted": None, "epsilon": 1.5,
}  # fmt: skip
SERVER = {
    "rounds": 3, "closed": 1, "finished": False, "waiting_for": ["north"], "foreign_nodes": 0,
    "certificate_ends": "1970-01-02T00:00:00+00:00",
    "sites": [
        {"site": "north", "online": True, "absorbed": 1, "bytes_up": 10, "bytes_down": 20, "rejected": "round 0: tags"}
    ],
}  # fmt: skip


def served(port: int | None) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(page.read(), "utf-8")


def test_metrics_are_prometheus_text() -> None:
    with metrics_on(0, lambda: SERVER, SERVER_GAUGES) as port:
        found = {family.name: family for family in text_string_to_metric_families(served(port))}
    assert {name for name in found if not name.startswith("sapefl_site_")} == {
        "sapefl_rounds", "sapefl_rounds_closed", "sapefl_finished", "sapefl_sites_waited_for", "sapefl_foreign_nodes",
        "sapefl_certificate_end_seconds",
    }  # fmt: skip
    assert found["sapefl_rounds_closed"].samples[0].value == 1
    assert found["sapefl_certificate_end_seconds"].samples[0].value == 86_400
    by_site = {name: family.samples[0] for name, family in found.items() if name.startswith("sapefl_site_")}
    assert {sample.labels["site"] for sample in by_site.values()} == {"north"}
    assert {name.removeprefix("sapefl_site_"): sample.value for name, sample in by_site.items()} == {
        "online": 1, "absorbed_rounds": 1, "bytes_up": 10, "bytes_down": 20, "rejected": 1,
    }  # fmt: skip


@pytest.mark.parametrize("epsilon", [1.5, None])
def test_epsilon_is_told_where_there_is_one(epsilon: float | None) -> None:
    with metrics_on(0, lambda: SITE | {"epsilon": epsilon}, SITE_GAUGES) as port:
        text = served(port)
    assert ('sapefl_site_epsilon{site="north"} 1.5\n' in text) == (epsilon is not None)
    assert 'sapefl_site_letters{site="north"} 5.0\n' in text


def test_metrics_are_served_on_loopback_only_while_asked_for() -> None:
    with metrics_on(0, lambda: SITE, SITE_GAUGES) as port:
        text = served(port)
        assert "sapefl_rounds" in text
        assert "python" not in text, "nothing of the process itself"
        with pytest.raises(BadInput, match="Choose another"), metrics_on(port, lambda: SITE, SITE_GAUGES):
            pass
    with metrics_on(None, lambda: SITE, SITE_GAUGES) as nothing:
        assert nothing is None
    with pytest.raises(URLError):
        served(port)


def test_before_there_is_a_status_metrics_say_so() -> None:
    def nothing_yet() -> dict[str, object]:
        raise BadInput("not started")

    with metrics_on(0, nothing_yet, SITE_GAUGES) as port, pytest.raises(HTTPError, match="503"):
        urlopen(f"http://127.0.0.1:{port}/metrics")


@pytest.mark.parametrize(("gauges", "status"), [(SERVER_GAUGES, SERVER), (SITE_GAUGES, SITE)])
def test_every_gauge_has_a_value_and_a_sentence(gauges: tuple[Gauge, ...], status: dict[str, object]) -> None:
    full = {"certificate_ends": "2027-01-01T00:00:00+00:00"} | status
    assert all(gauge.family(full) is not None for gauge in gauges)
    assert all(gauge.text.endswith(".") for gauge in gauges)
    assert len({gauge.name for gauge in gauges}) == len(gauges)
