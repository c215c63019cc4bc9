"""A site and sums it will not use: it says so, so often, and then halts until its owner goes on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sapefl_crypto import Aggregate
from secure_sapefl.protocol.messages import RoundOutcome
from secure_sapefl.transport.reports import digest_of, write_report
from secure_sapefl.transport.wire import ToSite, read_to_server, write_to_site

World = Callable[..., Any]


def wrong_sums(deployed: Any, name: str) -> list[int]:
    refused = deployed.ledgers[name].events("refused")
    return [event.round_index for event in refused if event.checks == {"tags": False}]


def outcome_message(deployed: Any, name: str, outcome: RoundOutcome) -> Any:
    message = ToSite(site=name, round_index=outcome.round_index + 1, nonce="n", outcomes=(outcome,))
    return write_to_site(message, deployed.coordinator_identity, deployed.file.wire_name)


def test_nobody_is_left_out_as_a_suspect_without_a_wrong_sum(world: World) -> None:
    """A coordinator that says so without cause, or with the word of one site alone, has its sum left unused."""
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 1)
    outcome = deployed.state.outcome(0)
    report = write_report(deployed.identities["south"], deployed.file.wire_name, 0, digest_of(outcome.aggregate))
    for name, reports in (("north", ()), ("east", (report,)), ("south", (b"noise",))):
        agent = deployed.agents[name]
        accused = replace(outcome, left_out=("west",), reports=reports)
        agent.answer(outcome_message(deployed, name, accused))
        assert deployed.ledgers[name].events("refused")[-1].checks == {"left out": False}
        np.testing.assert_array_equal(agent.state.theta_global, agent.site.first_state().theta_global)
        assert agent.halted is None


def spoilt(deployed: Any, index: int) -> RoundOutcome:
    """The honest sum of a round, with another payload."""
    outcome = deployed.state.outcome(index)
    genuine = Aggregate.from_bytes(outcome.aggregate)
    return replace(outcome, aggregate=replace(genuine, payload=genuine.payload[::-1]).to_bytes())


def test_a_forger_gets_so_many_verdicts_and_then_none(world: World) -> None:
    deployed = world(rounds=6)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 6)
    agent = deployed.start_agent("west", max_rejected_sums=2)
    for index in range(6):
        agent.answer(outcome_message(deployed, "west", spoilt(deployed, index)))
    assert len(wrong_sums(deployed, "west")) == 2
    assert agent.state.absorbed == 1
    assert agent.halted is not None


def halted_at_once(deployed: Any) -> Any:
    """`west` was away for three rounds, is given a forged first sum, and halts."""
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 3)
    agent = deployed.start_agent("west", max_rejected_sums=1)
    agent.answer(outcome_message(deployed, "west", spoilt(deployed, 0)))
    assert agent.halted is not None
    return agent


def test_a_halted_site_takes_in_no_sum_and_says_nothing_of_any(world: World) -> None:
    deployed = world(rounds=4)
    agent = halted_at_once(deployed)
    before, lines = agent.state, len(deployed.ledgers["west"])
    for index, outcome in ((1, deployed.state.outcome(1)), (1, spoilt(deployed, 1))):
        answer = agent.answer(outcome_message(deployed, "west", outcome))
        said = read_to_server(answer, deployed.file.keys_by_name, deployed.file.wire_name)
        assert (said.absorbed, said.halted, said.upload) == (index, True, None)
        assert "tags" in str(said.declined)
    assert agent.state is before
    assert len(deployed.ledgers["west"]) == lines


def test_a_halted_site_does_not_send_even_what_it_sent_before(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    node, agent = 0, deployed.agents["north"]
    deployed.server.receive(node, agent.answer(deployed.server.next_message(node)))
    message = deployed.server.next_message(node)
    assert read_to_server(agent.answer(message), deployed.file.keys_by_name, deployed.file.wire_name).upload is not None
    (deployed.folder / "north" / "halted").write_text("for a while")
    assert read_to_server(agent.answer(message), deployed.file.keys_by_name, deployed.file.wire_name).upload is None


def test_resumed_by_its_owner_a_site_first_catches_up_and_then_takes_part(world: World) -> None:
    deployed = world(rounds=4)
    halted_at_once(deployed)
    deployed.agents["west"] = agent = deployed.start_agent("west")
    deployed.post("west", 3)
    assert deployed.server.sites["west"].halted
    agent.resume()
    assert agent.halted is None
    deployed.clock.now += 30
    while deployed.post("west", 3):
        pass
    deployed.run()
    assert agent.over
    assert [event.round_index for event in deployed.ledgers["west"].events("checked")] == [1, 2, 3]
    assert [event.round_index for event in deployed.ledgers["west"].events("sent")] == [3]


def test_after_a_resume_a_further_wrong_sum_counts_from_one(world: World) -> None:
    deployed = world(rounds=4)
    halted_at_once(deployed)
    agent = deployed.start_agent("west", max_rejected_sums=2)
    agent.resume()
    agent.answer(outcome_message(deployed, "west", spoilt(deployed, 1)))
    assert agent.halted is None
    agent.answer(outcome_message(deployed, "west", spoilt(deployed, 2)))
    assert agent.halted is not None


def test_what_only_the_server_can_have_done_halts_at_once(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    outcome = deployed.state.outcome(0)
    agent = deployed.agents["north"]
    agent.answer(outcome_message(deployed, "north", replace(outcome, aggregate=b"no sum at all")))
    assert "format" in str(agent.halted)
