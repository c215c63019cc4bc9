"""A study in which the server sums nothing and only passes sealed models on."""

from dataclasses import replace
from typing import Any

import pytest

from secure_sapefl.protocol.messages import RoundUpload
from secure_sapefl.protocol.server import Server


@pytest.fixture
def relay(bench: Any) -> Any:
    return replace(bench, study=replace(bench.study, relay_only=True, peers_from="everyone"))


def sealed_only(relay: Any, site: str) -> RoundUpload:
    upload: RoundUpload = relay.upload(site)
    return replace(upload, update=None)


def test_nothing_is_summed_and_models_arrive_at_peers(relay: Any) -> None:
    models: dict[str, Any] = {}
    server = Server(relay.study, relay.protection.adders(relay.study), models)
    server.open_round(3)
    for site in relay.invited:
        assert server.accept(sealed_only(relay, site))
    outcome = server.close_round()
    assert (outcome.aggregate, outcome.weights, outcome.refusals) == (None, (), ())
    assert models.keys() == set(relay.invited)
    for invitation in server.open_round(4):
        assert set(invitation.peers) == set(relay.invited) - {invitation.site}


def test_an_update_where_none_belongs_is_refused(relay: Any) -> None:
    server = relay.server()
    assert not server.accept(relay.upload(relay.invited[0]))
    assert "only a sealed model" in server.close_round().refusals[0].reason


def test_an_empty_upload_is_refused(relay: Any) -> None:
    server, site = relay.server(), relay.invited[0]
    assert not server.accept(replace(relay.upload(site), update=None, theta_personal=None))
    assert "empty" in server.close_round().refusals[0].reason


def test_where_updates_are_summed_none_may_be_missing(bench: Any) -> None:
    server, site = bench.server(), bench.invited[0]
    assert not server.accept(replace(bench.upload(site), update=None))
    assert "carries an update" in server.close_round().refusals[0].reason
