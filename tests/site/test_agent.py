"""A site under all that a server, a relay and bad luck can do to it: one release a round, recorded before it leaves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import FrameRejected
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.transport.wire import ToSite, read_to_server, read_to_site, write_to_site

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")
World = Callable[..., Any]


def upload_bytes(deployed: Any, answer: tuple[bytes, ...]) -> Any:
    return read_to_server(answer, deployed.file.keys_by_name, deployed.file.wire_name).upload


def invite(deployed: Any, node: int = 0) -> tuple[bytes, ...]:
    """The message with the invitation of the open round to the first site."""
    question = deployed.server.next_message(node)
    deployed.server.receive(node, deployed.agents["north"].answer(question))
    message = deployed.server.next_message(node)
    assert message is not None
    return tuple(message)


def test_the_same_invitation_twice_gives_the_very_same_upload(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message = invite(deployed)
    agent = deployed.agents["north"]
    first, spent = upload_bytes(deployed, agent.answer(message)), agent.epsilon
    second = upload_bytes(deployed, agent.answer(message))
    assert first == second
    assert agent.epsilon == spent
    assert [event.note for event in deployed.ledgers["north"].events("sent")] == ["", "the same bytes again"]


def test_after_a_crash_the_upload_on_disk_is_sent_again(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message = invite(deployed)
    first = upload_bytes(deployed, deployed.agents["north"].answer(message))
    again = deployed.start_agent("north")
    assert upload_bytes(deployed, again.answer(message)) == first


def test_a_crash_between_paying_and_sending_does_not_cost_a_second_payment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message, agent = invite(deployed), deployed.agents["north"]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(agent.site, "take_part", die)
    with pytest.raises(KeyboardInterrupt):
        agent.answer(message)
    spent = agent.epsilon
    assert spent > 0
    assert not deployed.ledgers["north"].events("sent")
    again = deployed.start_agent("north")
    assert upload_bytes(deployed, again.answer(message)) is not None
    assert again.epsilon == spent


def test_what_left_and_is_lost_is_never_made_a_second_time(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message = invite(deployed)
    deployed.agents["north"].answer(message)
    for name in ("upload", "state.npz"):
        (deployed.folder / "north" / name).unlink()
    answer = read_to_server(
        deployed.start_agent("north").answer(message), deployed.file.keys_by_name, deployed.file.wire_name
    )
    assert answer.upload is None
    assert "answered before" in str(answer.declined)


def test_a_full_disk_at_the_ledger_means_that_nothing_leaves(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    message = invite(deployed)
    deployed.ledgers["north"].full = True
    with pytest.raises(OSError, match="No space"):
        deployed.agents["north"].answer(message)
    deployed.ledgers["north"].full = False
    spent = deployed.agents["north"].epsilon
    again = deployed.start_agent("north")
    assert upload_bytes(deployed, again.answer(message)) is not None
    assert again.epsilon == spent


def test_a_budget_that_is_spent_keeps_the_site_out_and_says_so(world: World) -> None:
    deployed = world(privacy=PRIVATE)
    deployed.start_all()
    deployed.start_agent("north", max_epsilon_lifetime=0.01)
    message = invite(deployed)
    answer = read_to_server(
        deployed.agents["north"].answer(message), deployed.file.keys_by_name, deployed.file.wire_name
    )
    assert answer.upload is None
    assert "budget" in str(answer.declined)
    deployed.server.receive(0, deployed.agents["north"].answer(message))
    deployed.run()
    assert deployed.server.sites["north"].absorbed == deployed.file.rounds


@pytest.mark.parametrize("fault", ["foreign", "altered", "other site", "old round"])
def test_messages_nobody_should_answer_are_refused_and_recorded(world: World, fault: str) -> None:
    deployed = world()
    deployed.start_all()
    message = invite(deployed)
    agent, ledger = deployed.agents["north"], deployed.ledgers["north"]
    if fault == "foreign":
        message = write_to_site(ToSite(site=None, round_index=0, nonce="x"), deployed.identities["east"], "x:y")
    elif fault == "altered":
        message = (message[0][:-1] + bytes([message[0][-1] ^ 1]), *message[1:])
    elif fault == "other site":
        agent, ledger = deployed.agents["east"], deployed.ledgers["east"]
    else:
        deployed.server.receive(0, agent.answer(message))
        deployed.run(until=lambda server: server.round_index == 2)
        deployed.run(until=lambda server: server.sites["north"].absorbed == 2)
        ledger.clear()
    before = agent.state
    with pytest.raises(FrameRejected):
        agent.answer(message)
    assert agent.state is before
    assert [event.message for event in ledger.events("refused")] == ["letter"]
    assert not [event for event in ledger.events("sent") if fault != "old round"]


def test_noise_at_the_socket_does_not_fill_the_ledger(world: World) -> None:
    deployed = world()
    agent = deployed.start_agent("north")
    for _ in range(150):
        with pytest.raises(FrameRejected):
            agent.answer((b"noise",))
    assert len(deployed.ledgers["north"]) == 100
    assert agent.refused_messages == 150


def resigned(deployed: Any, message: tuple[bytes, ...], **changes: Any) -> tuple[bytes, ...]:
    """The message as a dishonest coordinator would write it."""
    from dataclasses import replace

    content = read_to_site(message, deployed.coordinator_identity.public, deployed.file.wire_name)
    assert content.invitation is not None
    invitation = replace(content.invitation, **changes)
    index = changes.get("round_index", content.round_index)
    altered = replace(content, invitation=invitation, round_index=index)
    return write_to_site(altered, deployed.coordinator_identity, deployed.file.wire_name)


def test_a_coordinator_cannot_invite_whom_the_seed_did_not_draw(world: World) -> None:
    deployed = world(participation=0.75)
    deployed.start_all()
    absent = next(c for c in range(4) if c not in deployed.terms.blueprint.study.cohort(0))
    name = deployed.file.sites[absent]
    message = ToSite(site=name, round_index=0, nonce="n", invitation=deployed.server.rounds.server.invitation(name))
    parts = write_to_site(message, deployed.coordinator_identity, deployed.file.wire_name)
    answer = read_to_server(deployed.agents[name].answer(parts), deployed.file.keys_by_name, deployed.file.wire_name)
    assert answer.upload is None
    assert "not drawn" in str(answer.declined)


@pytest.mark.parametrize("peers", [("north",), ("stranger",)])
def test_peers_are_sites_of_the_roster_and_never_oneself(world: World, peers: tuple[str, ...]) -> None:
    deployed = world()
    deployed.start_all()
    message = resigned(deployed, invite(deployed), peers=peers)
    answer = read_to_server(
        deployed.agents["north"].answer(message), deployed.file.keys_by_name, deployed.file.wire_name
    )
    assert answer.upload is None


def test_an_invitation_ahead_of_the_site_is_answered_with_where_it_stands(world: World) -> None:
    deployed = world()
    deployed.start_all()
    message = resigned(deployed, invite(deployed), round_index=1)
    answer = read_to_server(
        deployed.agents["north"].answer(message), deployed.file.keys_by_name, deployed.file.wire_name
    )
    assert (answer.absorbed, answer.upload, answer.declined) == (0, None, None)


def test_a_sum_that_is_one_sites_ciphertext_is_rejected_and_ends_that_sites_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server adds one frame only, and claims that it added all."""
    from sapefl_crypto import Aggregator
    from sapefl_crypto.aggregate import Aggregate

    deployed = world(rounds=2)
    deployed.start_server()
    for name in deployed.file.sites:
        deployed.start_agent(name, max_rejected_sums=1)
    honest, single = Aggregator.finish, {}

    def add(self: Aggregator, frame: bytes, score: float, *, sender: str | None = None) -> None:
        if not single:
            alone = Aggregator(
                deployed.terms.params,
                study=deployed.file.wire_name,
                round_index=0,
                length=deployed.terms.blueprint.study.parameters,
                max_score=deployed.terms.blueprint.study.max_score,
            )
            genuine(alone, frame, score, sender=sender)
            single["payload"] = honest(alone).payload
        genuine(self, frame, score, sender=sender)

    def finish(self: Aggregator) -> Aggregate:
        claimed = honest(self)
        return Aggregate(occasion=claimed.occasion, claim=claimed.claim, payload=single["payload"])

    genuine = Aggregator.add
    monkeypatch.setattr(Aggregator, "add", add)
    monkeypatch.setattr(Aggregator, "finish", finish)
    before = {name: deployed.agents[name].state.theta_global.clone() for name in deployed.file.sites}
    deployed.run(until=lambda server: all(one.halted for one in server.sites.values()))
    for name, agent in deployed.agents.items():
        np.testing.assert_array_equal(agent.state.theta_global, before[name])
        assert "tags" in str(agent.halted)
        refused = deployed.ledgers[name].events("refused")
        assert refused[0].checks == {"tags": False}
        assert [event.round_index for event in deployed.ledgers[name].events("sent")] == [0]
    assert deployed.server.round_index == 1  # nobody takes part any more: the round stays open for their owners
    assert all("tags" in str(progress.rejected) for progress in deployed.server.sites.values())


def test_a_sum_of_fewer_than_the_sites_own_minimum_is_not_used_but_the_site_stays(world: World) -> None:
    deployed = world(min_cohort=2, rounds=2)
    deployed.start_all()
    deployed.start_agent("north", min_cohort=4)
    deployed.run("west")
    strict, others = deployed.agents["north"], deployed.agents["east"]
    assert strict.halted is None
    assert [event.checks for event in deployed.ledgers["north"].events("refused")] == [{"minimum cohort": False}] * 2
    first = strict.site.first_state().theta_global
    np.testing.assert_array_equal(strict.state.theta_global, first)
    assert not np.array_equal(others.state.theta_global, first)
    assert [event.round_index for event in deployed.ledgers["north"].events("sent")] == [0, 1]
