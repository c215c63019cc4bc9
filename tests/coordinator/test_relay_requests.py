"""What the coordinator's socket lets a relay do, ours or another: carry messages, and nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto import FrameRejected
from secure_sapefl.coordinator import relay_requests
from secure_sapefl.coordinator.relay_requests import RelayRequests, largest_answer
from secure_sapefl.storage.parts import Parts
from secure_sapefl.transport.wire import read_to_site

BuildWorld = Callable[..., Any]


class Relay:
    """Speaks to the requests as the ServerApp does."""

    def __init__(self, requests: RelayRequests) -> None:
        self.requests = requests
        self.session = self.say(ask="begin")[0]["session"]

    def say(self, *parts: bytes, **head: Any) -> tuple[dict[str, Any], Parts]:
        answer = self.requests.answer((json.dumps(head).encode(), *parts))
        return json.loads(answer[0]), answer[1:]

    def next(self, *nodes: int) -> tuple[int | None, Parts]:
        head, parts = self.say(ask="next", session=self.session, nodes=nodes)
        return head["node"], parts

    def came(self, node: int, parts: Parts) -> None:
        self.say(*parts, ask="came", session=self.session, node=node, answered=True)


@pytest.fixture
def study(world: BuildWorld) -> Any:
    made = world(rounds=1)
    made.start_all()
    return made


def carry(study: Any, relay: Relay) -> None:
    """Until the study is over, with nodes numbered like the sites."""
    for _ in range(200):
        node, parts = relay.next(*range(len(study.file.sites)))
        if node is not None:
            relay.came(node, study.agents[study.file.sites[node]].answer(parts))
        elif study.server.finished:
            return
        else:
            study.clock.now += 5
        study.server.rounds.advance()
    raise AssertionError("the study does not end")


NONSENSE = [
    (),
    (b"",),
    (b"\xff",),
    (b"[]",),
    (b"[" * 100_000,),
    (b"{}",),
    (b'{"ask": "sign", "what": "an invitation"}',),
    (b'{"ask": ["begin"]}',),
    (b'{"ask": "begin", "pad": "' + b"x" * (2 << 20) + b'"}',),
]


MALFORMED: list[dict[str, Any]] = [
    {"ask": "next"},
    {"ask": "next", "nodes": 3},
    {"ask": "next", "nodes": ["1"]},
    {"ask": "next", "nodes": [True]},
    {"ask": "next", "nodes": [-1]},
    {"ask": "next", "nodes": [2**70]},
    {"ask": "came", "node": 0, "answered": True},
    {"ask": "came", "node": 5, "answered": False},
    {"ask": "came", "node": [0], "answered": False},
    {"ask": "came", "node": None},
]


def test_what_is_no_question_is_refused_and_changes_nothing(study: Any) -> None:
    relay = Relay(RelayRequests(study.server, 60.0))
    for nonsense in NONSENSE:
        with pytest.raises(FrameRejected):
            relay.requests.answer(nonsense)
    for head in MALFORMED:
        with pytest.raises(FrameRejected):
            relay.say(**head, session=relay.session)
    for session in ("", None, "0" * 32):
        with pytest.raises(FrameRejected):
            relay.say(ask="next", session=session, nodes=[0])
    carry(study, relay)


def test_without_a_session_nothing_is_handed_out(study: Any) -> None:
    for session in ("", None, "0" * 32):
        with pytest.raises(FrameRejected):
            RelayRequests(study.server, 60.0).answer(
                (json.dumps({"ask": "next", "session": session, "nodes": [0]}).encode(),)
            )


def test_a_relay_chooses_no_word_of_what_the_coordinator_signs(study: Any) -> None:
    """A node nobody has heard of gets a question of the coordinator's own making; its number is not in it."""
    relay = Relay(RelayRequests(study.server, 60.0))
    _, parts = relay.next(123_456_789)
    message = read_to_site(parts, study.file.coordinator_keys, study.file.wire_name)
    assert (message.site, message.outcomes, message.invitation, message.over) == (None, (), None, False)
    assert all(b"123456789" not in part for part in parts)


def test_invented_answers_count_for_nothing_and_stop_nothing(study: Any) -> None:
    relay = Relay(RelayRequests(study.server, 60.0))
    for made_up in ((), (b"",), (b"\0" * 200,), (b"x",) * 300):
        node, _ = relay.next(7)
        assert node == 7
        relay.came(7, made_up)
        study.clock.now += 8
    assert study.server.status()["foreign_nodes"] == 1
    carry(study, relay)
    for ledger in study.ledgers.values():
        assert [event.round_index for event in ledger.events("sent")] == [0]


def test_a_relay_that_takes_all_messages_and_goes_keeps_no_site_waiting(study: Any) -> None:
    """It even has them answered, so that the nodes are the sites', and keeps the next ones."""
    requests = RelayRequests(study.server, 60.0)
    thief = Relay(requests)
    for node, name in enumerate(study.file.sites):
        taken, parts = thief.next(node)
        assert taken == node
        thief.came(node, study.agents[name].answer(parts))
        assert thief.next(node)[0] == node
    ours = Relay(requests)
    carry(study, ours)
    with pytest.raises(FrameRejected):
        thief.next(0)
    for ledger in study.ledgers.values():
        assert len({event.digest for event in ledger.events("sent") if event.round_index == 0}) == 1


def test_an_answer_of_an_old_session_fits_no_question_of_the_new_one(study: Any) -> None:
    requests = RelayRequests(study.server, 60.0)
    old = Relay(requests)
    _, parts = old.next(0)
    answer = study.agents["north"].answer(parts)
    new = Relay(requests)
    with pytest.raises(FrameRejected):
        old.came(0, answer)
    assert new.next(0)[0] == 0
    new.came(0, answer)
    assert all(site["seconds_since_heard"] is None for site in study.server.status()["sites"])


def test_a_relay_that_invents_nodes_takes_a_bounded_amount_of_memory(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_requests, "_MOST_NODES", 10)
    relay = Relay(RelayRequests(study.server, 60.0))
    taken = [relay.next(node)[0] for node in range(20)]
    assert taken == [*range(10), *[None] * 10]
    assert len(study.server._nodes) == 10  # no public figure says what it remembers


def test_the_largest_answer_the_socket_takes_is_more_than_any_site_sends(study: Any) -> None:
    most = largest_answer(study.terms)
    carry(study, Relay(RelayRequests(study.server, 60.0)))
    sent = [site["bytes_up"] for site in study.server.status()["sites"]]
    assert max(sent) < most < 10 << 20
