"""The server and members of committees: one finds no update, as many as open a sum find all."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from secure_sapefl import Config
from secure_sapefl.audit.coalition import LeakySites, leaky
from secure_sapefl.audit.replay import Replay, replay
from secure_sapefl.engine.assembly import assemble, federation_of
from secure_sapefl.engine.protection import Ckks, Joint

STUDY: dict[str, Any] = {"participation": 1.0, "rounds": 2, "keys": "joint"}


@pytest.fixture(scope="module")
def again(small: Callable[..., Config]) -> dict[str, Replay]:
    """The same study encrypted and in the open."""
    configs = {name: small(**STUDY, protection=name) for name in ("ckks", "plaintext")}
    return {name: replay(config, federation_of(config)) for name, config in configs.items()}


def test_the_server_and_one_site_find_no_update_and_a_threshold_finds_every_one(again: dict[str, Replay]) -> None:
    parties = {party.name: party for party in again["ckks"].parties}
    everything = {party.name: party for party in again["plaintext"].parties}["server"]
    assert [name for name, party in parties.items() if party.updates] == ["server and a threshold"]
    found = parties["server and a threshold"]
    assert set(found.updates) == set(everything.updates) - {found.site}
    for site, update in found.updates.items():
        torch.testing.assert_close(update.theta_local, everything.updates[site].theta_local, rtol=0, atol=1e-6)


def test_both_still_see_what_that_site_was_given(again: dict[str, Replay]) -> None:
    parties = {party.name: party for party in again["ckks"].parties}
    assert parties["server"].theta_global is None
    assert parties["server"].personal == {}
    for name in ("peer", "server and one site"):
        assert parties[name].theta_global is not None
        assert parties[name].personal


def test_no_forgery_passes_and_no_key_is_near(again: dict[str, Replay]) -> None:
    assert not again["ckks"].key_within_reach
    assert len(again["ckks"].forgeries) == 5
    assert set(again["ckks"].forgeries.values()) == {False}


def test_only_joint_keys_have_members_that_leak(small: Callable[..., Config]) -> None:
    for keys, kind in (("shared", Ckks), ("joint", Joint)):
        config = small(**STUDY | {"keys": keys})
        protection = leaky(assemble(config, federation_of(config)))
        assert isinstance(protection, kind)
        assert isinstance(getattr(protection, "sites", None), LeakySites) == (keys == "joint")
