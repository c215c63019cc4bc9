"""When a round is open, whom it waits for, and who is left out of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from secure_sapefl.transport.wire import read_to_site

World = Callable[..., Any]


def test_a_round_ends_at_its_deadline_with_whoever_came(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 1)
    outcome = deployed.state.outcome(0)
    assert {name for name, _ in outcome.weights} == {"north", "east", "south"}
    assert [(r.site, "deadline" in r.reason) for r in outcome.refusals] == [("west", True)]


def test_with_too_few_the_round_stays_open_and_costs_nobody_a_second_release(world: World) -> None:
    deployed = world(rounds=1, min_cohort=4)
    deployed.start_all()
    for _ in range(3):
        for node, name in enumerate(deployed.file.sites[:3]):
            deployed.post(name, node)
    deployed.clock.now += 10_000
    deployed.server.rounds.advance()
    assert deployed.server.round_index == 0
    assert deployed.server.status()["waiting_for"] == ["west"]
    deployed.run()
    assert {name for name, _ in deployed.state.outcome(0).weights} == set(deployed.file.sites)
    assert all(len(ledger.events("sent")) == 1 for ledger in deployed.ledgers.values())


def test_if_too_few_send_although_all_answered_there_is_no_sum(world: World) -> None:
    deployed = world(rounds=1, min_cohort=3, privacy={"epsilon": 8.0, "delta": 1e-4})
    deployed.start_all()
    for name in ("north", "east"):
        deployed.start_agent(name, max_epsilon_lifetime=0.01)
    deployed.run()
    outcome = deployed.state.outcome(0)
    assert outcome.aggregate is None
    assert "2 sites sent an update" in outcome.refusals[-1].reason
    assert not deployed.state.models.rounds  # nobody's model is relayed from a round that was not held


def test_a_study_whose_sites_are_halted_waits_for_their_owners_instead_of_ending(world: World) -> None:
    """Each message to a halted site is a bare question, and not every second one."""
    deployed = world(rounds=3, min_cohort=3)
    deployed.start_all()
    for name in ("north", "east"):
        (deployed.folder / name / "halted").write_text("for a while")
    for _ in range(40):
        for node, name in enumerate(deployed.file.sites):
            deployed.post(name, node)
        deployed.clock.now += 30
        deployed.server.rounds.advance()
    assert deployed.server.round_index == 0
    assert deployed.server.status()["waiting_for"] == ["north", "east"]
    question = read_to_site(
        deployed.server.next_message(0), deployed.coordinator_identity.public, deployed.file.wire_name
    )
    assert (question.outcomes, question.invitation) == ((), None)
    for name in ("north", "east"):
        deployed.agents[name].resume()
    deployed.server.receive(0, None)
    deployed.run()
    assert all(len(deployed.state.outcome(index).weights) >= 3 for index in range(3))


def test_with_enough_others_a_round_does_not_wait_for_a_halted_site(world: World) -> None:
    deployed = world(rounds=2, min_cohort=3)
    deployed.start_all()
    (deployed.folder / "north" / "halted").write_text("for a while")
    start = deployed.clock.now
    deployed.run(until=lambda server: server.round_index == 2)
    assert deployed.clock.now < start + deployed.file.round_deadline
    assert "halted: for a while" in deployed.state.outcome(1).refusals[0].reason


def test_a_site_of_next_to_no_weight_is_left_out_instead_of_spoiling_the_sum(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    agent = deployed.agents["west"]
    genuine = agent.site.take_part

    def take_part(state: Any, invitation: Any) -> Any:
        upload, own, refusals = genuine(state, invitation)
        return replace(upload, similarity_score=1e-9), own, refusals

    monkeypatch.setattr(agent.site, "take_part", take_part)
    deployed.run()
    for index in range(2):
        outcome = deployed.state.outcome(index)
        assert {name for name, _ in outcome.weights} == {"north", "east", "south"}
        assert ("west", True) in [(one.site, "next to nothing" in one.reason) for one in outcome.refusals]
    for name in ("north", "east", "south"):
        assert not deployed.ledgers[name].events("refused")
