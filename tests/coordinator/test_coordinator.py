"""The server's side without a network: who is asked what, when a round ends, and what a restart remembers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secure_sapefl.coordinator.coordinator import Coordinator
from secure_sapefl.coordinator.state import read_status
from secure_sapefl.transport.wire import ToServer, read_to_site, write_to_server

World = Callable[..., Any]


def models(deployed: Any) -> dict[str, Any]:
    return {name: agent.state.theta_global.numpy() for name, agent in deployed.agents.items()}


def test_a_late_site_is_given_every_outcome_and_stands_where_the_others_stand(world: World) -> None:
    deployed = world(rounds=3)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 3)
    deployed.run()
    for theta in models(deployed).values():
        np.testing.assert_array_equal(theta, models(deployed)["north"])
    assert not deployed.ledgers["west"].events("sent")
    assert len(deployed.ledgers["west"].events("checked")) == 3


def test_outcomes_beyond_a_bearable_size_come_in_several_messages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secure_sapefl.coordinator.coordinator._BUNDLE_BYTES", 1)
    deployed = world(rounds=3)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 3)
    node, sizes = 3, []
    for _ in range(4):
        parts = deployed.server.next_message(node)
        content = read_to_site(parts, deployed.coordinator_identity.public, deployed.file.wire_name)
        sizes.append(len(content.outcomes))
        deployed.server.receive(node, deployed.agents["west"].answer(parts))
    assert sizes == [0, 1, 1, 1]


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_restarted_server_goes_on_where_it_was_and_ends_in_the_same_bits(world: World, closed: int) -> None:
    """Killed within a round: some have sent, and hand in the same bytes again."""
    deployed = world(rounds=3)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == closed)
    for _ in range(3):
        for node, name in enumerate(deployed.file.sites[:2]):
            deployed.post(name, node)
    before = {name: len(ledger.events("sent")) for name, ledger in deployed.ledgers.items()}
    deployed.start_server()
    assert deployed.server.round_index == closed
    deployed.run()
    for name, ledger in deployed.ledgers.items():
        digests = {event.round_index: set() for event in ledger.events("sent")}
        for event in ledger.events("sent"):
            digests[event.round_index].add(event.digest)
        assert all(len(found) == 1 for found in digests.values())
        assert sorted(digests) == [0, 1, 2]
        assert len(ledger.events("sent")) >= before[name]


def test_a_server_killed_after_the_last_round_still_tells_everybody_that_it_is_over(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    deployed.start_server()
    deployed.run()
    assert all(agent.over for agent in deployed.agents.values())
    assert all(progress.released for progress in deployed.server.sites.values())


def test_a_node_without_a_rostered_key_counts_for_nothing(world: World) -> None:
    from sapefl_crypto import SiteIdentity

    deployed = world(rounds=1)
    deployed.start_all()
    stranger, node = SiteIdentity.generate("stranger"), 99
    parts = deployed.server.next_message(node)
    nonce = read_to_site(parts, deployed.coordinator_identity.public, deployed.file.wire_name).nonce
    forged = ToServer(site="stranger", round_index=0, nonce=nonce, absorbed=0)
    deployed.server.receive(node, write_to_server(forged, stranger, deployed.file.wire_name))
    assert deployed.server.next_message(node) is None  # it is left alone for a while
    assert deployed.server.status()["foreign_nodes"] == 1
    deployed.run()
    assert {name for name, _ in deployed.state.outcome(0).weights} == set(deployed.file.sites)


def test_an_old_answer_fits_no_new_question(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    old = deployed.agents["north"].answer(deployed.server.next_message(0))
    deployed.server.receive(0, old)
    deployed.server.next_message(0)
    deployed.server.receive(0, old)
    assert deployed.server.sites["north"].answer == "silent"
    assert not deployed.server.rounds.server.contributors


def test_two_nodes_of_one_site_count_once(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    for node in (0, 77, 0, 77):
        deployed.post("north", node)
    assert deployed.server.rounds.server.contributors == ("north",)
    deployed.run()
    assert len(deployed.state.outcome(0).weights) == 4


def test_a_silent_node_is_spared_and_asked_again(world: World) -> None:
    deployed = world()
    deployed.start_all()
    assert deployed.server.next_message(0) is not None
    deployed.server.receive(0, None)
    assert deployed.server.next_message(0) is None
    deployed.clock.now += 1.0
    assert deployed.server.next_message(0) is not None


def test_the_study_ends_for_the_server_although_a_site_never_comes_back(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run("west")
    assert deployed.server.finished
    assert deployed.server.sites["west"].absorbed == 0
    assert deployed.agents["north"].over


def test_a_server_started_for_latecomers_counts_from_when_they_can_reach_it(world: World) -> None:
    """Flower's programs may take longer to start than a round may take."""
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run("west")
    again = Coordinator(deployed.terms, deployed.coordinator_identity, deployed.state, deployed.clock)
    again.advance()
    deployed.clock.now += 10 * deployed.file.round_deadline
    assert not again.finished
    again.forget_nodes()  # the relay begins
    assert not again.finished
    deployed.clock.now += 1.1 * deployed.file.round_deadline
    assert again.finished


def test_status_shows_who_is_in_and_nothing_that_depends_on_records(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run()
    deployed.state.publish(deployed.server.status())
    status = read_status(deployed.folder / "server")
    assert status["finished"]
    assert [site["absorbed"] for site in status["sites"]] == [1] * 4
    assert all(site["bytes_up"] > site["absorbed"] for site in status["sites"])
    assert not {"score", "weight", "weights"} & set(json.dumps(status).replace('"', " ").split())


def test_how_rounds_went_is_remembered_by_a_restarted_server(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 1)
    (first,) = deployed.start_server().status()["history"]
    assert first["sent"] == 3
    assert first["seconds"] == deployed.file.round_deadline
    assert [one["site"] for one in first["left_out"]] == ["west"]
    assert "deadline" in first["left_out"][0]["reason"]
    deployed.run()
    assert [one["sent"] for one in deployed.server.status()["history"]] == [3, 4]
    assert deployed.server.status()["history"][1]["left_out"] == []


def test_a_moved_clock_changes_nothing_because_nobody_asks_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real monotonic clock, and a wall clock that jumps by a year whenever it is read."""
    import itertools
    import time

    jumps = itertools.cycle([0.0, 31_536_000.0, -31_536_000.0])
    deployed = world(rounds=2)
    deployed.clock = time.monotonic
    deployed.start_all()
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    deployed.run()
    assert deployed.server.status()["closed"] == 2
    assert all(0 <= site["seconds_since_heard"] < 3600 for site in deployed.server.status()["sites"])
