"""A server that picks a site's peers: it gets no score about one of them, and hands out no model beyond the draw."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from secure_sapefl.protocol.messages import SealedModel
from secure_sapefl.transport.wire import ToServer, read_to_server, read_to_site, write_to_site

World = Callable[..., Any]


def message_to(deployed: Any, name: str) -> Any:
    """The coordinator's message that invites a site to the open round."""
    node = deployed.file.sites.index(name)
    while True:
        message = read_to_site(
            deployed.server.next_message(node), deployed.coordinator_identity.public, deployed.file.wire_name
        )
        if message.invitation is not None:
            return message
        parts = write_to_site(message, deployed.coordinator_identity, deployed.file.wire_name)
        deployed.server.receive(node, deployed.agents[name].answer(parts))


def answered(deployed: Any, message: Any, **invitation: Any) -> ToServer:
    """What the site says to the message with another invitation, which its coordinator signed too."""
    changed = replace(message, invitation=replace(message.invitation, **invitation))
    parts = write_to_site(changed, deployed.coordinator_identity, deployed.file.wire_name)
    answer = deployed.agents[message.site].answer(parts)
    return read_to_server(answer, deployed.file.keys_by_name, deployed.file.wire_name)


def running(world: World, closed: int = 1, **fields: Any) -> Any:
    deployed = world(**fields)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == closed)
    return deployed


def model_of(deployed: Any, name: str) -> SealedModel:
    model: SealedModel = deployed.state.models[name]
    return model


@pytest.mark.parametrize("kept", [0, 1])
def test_a_score_over_fewer_peers_than_the_policy_says_is_not_sent(world: World, kept: int) -> None:
    """S_cj of one peer would be the score itself. The model travels, and the update counts for nothing."""
    deployed = running(world)
    message = message_to(deployed, "north")
    models = message.invitation.models[:kept]
    answer = answered(deployed, message, peers=tuple(model.sender for model in models), models=models)
    assert answer.upload is not None
    assert answer.upload.similarity_score == 0.0
    assert answer.upload.theta_personal is not None
    (entry,) = [event for event in deployed.ledgers["north"].events("refused") if event.message == "score"]
    assert entry.note == f"sent without a score: {kept} peers' models, the policy asks for 2."


def test_with_as_many_as_the_policy_says_the_score_is_sent(world: World) -> None:
    deployed = running(world)
    message = message_to(deployed, "north")
    models = message.invitation.models[:2]
    answer = answered(deployed, message, peers=tuple(model.sender for model in models), models=models)
    assert answer.upload.similarity_score > 0
    assert not deployed.ledgers["north"].events("refused")


def test_an_owner_may_ask_for_more_peers(world: World) -> None:
    deployed = running(world)
    deployed.start_agent("north", min_peers=4)
    assert answered(deployed, message_to(deployed, "north")).upload.similarity_score == 0.0


def test_a_study_goes_on_when_no_score_could_be_sent(world: World) -> None:
    """Nobody sends a score in round 1; the sum says so, models travel, and nobody halts."""
    deployed = world(rounds=2)
    deployed.start_server()
    for name in deployed.file.sites:
        deployed.start_agent(name, min_peers=4)
    deployed.run()
    assert [deployed.state.outcome(index).weights for index in (0, 1)] == [(), ()]
    assert set(deployed.state.models.rounds.values()) == {1}
    assert all(agent.over and agent.halted is None for agent in deployed.agents.values())


def test_no_sum_is_made_of_fewer_with_a_score_than_the_study_asks_for(world: World) -> None:
    """Four send, two of them without a score: the sum would be over two, and the study says three."""
    deployed = world(rounds=2, min_cohort=3)
    deployed.start_server()
    for name, least in zip(deployed.file.sites, (4, 4, 1, 1), strict=True):
        deployed.start_agent(name, min_peers=least)
    deployed.run()
    for index in range(2):
        outcome = deployed.state.outcome(index)
        assert (outcome.aggregate, outcome.weights) == (None, ())
        assert "2 sites sent a score above 0" in outcome.refusals[-1].reason
    assert set(deployed.state.models.rounds.values()) == {1}
    assert all(agent.over for agent in deployed.agents.values())


def test_models_beyond_the_draw_are_refused_and_entered_in_the_ledger(world: World) -> None:
    deployed = running(world, peers_per_client=2)
    message = message_to(deployed, "north")
    assert len(message.invitation.models) == 2
    everybody = tuple(model_of(deployed, name) for name in deployed.file.sites if name != "north")
    answer = answered(deployed, message, peers=tuple(model.sender for model in everybody), models=everybody)
    assert answer.upload is None
    assert "seed did not draw" in str(answer.declined)
    assert [event.note for event in deployed.ledgers["north"].events("refused")] == [answer.declined]


def test_a_peer_that_was_not_drawn_takes_nobodys_place(world: World) -> None:
    deployed = running(world, peers_per_client=1)
    deployed.start_agent("north", min_peers=1)
    message = message_to(deployed, "north")
    (drawn,) = message.invitation.peers
    other = model_of(deployed, next(name for name in deployed.file.sites if name not in ("north", drawn)))
    answer = answered(deployed, message, peers=(other.sender,), models=(other,))
    assert "seed did not draw" in str(answer.declined)


def test_a_site_outside_the_planned_cohort_is_nobodys_peer(world: World) -> None:
    deployed = running(world, participation=0.75, closed=2)
    protocol, index = deployed.terms.blueprint.study, 2
    name = deployed.file.sites[protocol.cohort(index)[0]]
    (absent,) = set(deployed.file.sites) - {deployed.file.sites[c] for c in protocol.cohort(index)}
    message, model = message_to(deployed, name), model_of(deployed, absent)
    answer = answered(
        deployed,
        message,
        peers=(*message.invitation.peers, absent),
        models=(*message.invitation.models, model),
    )
    assert absent in str(answer.declined)


def test_peers_without_their_models_do_not_fill_a_score(world: World) -> None:
    """They would stand at the initial weights, which the server knows."""
    deployed = running(world)
    message = message_to(deployed, "north")
    answer = answered(deployed, message, models=message.invitation.models[:1])
    assert answer.upload is None
    assert "not of the same sites" in str(answer.declined)


def test_after_the_last_round_too_only_drawn_peers_are_listened_to(world: World) -> None:
    deployed = world(peers_per_client=1)
    deployed.start_all()
    deployed.run("west", until=lambda server: server.round_index == 3)
    message = message_to(deployed, "west")
    everybody = tuple(model_of(deployed, name) for name in deployed.file.sites if name != "west")
    answered(deployed, message, peers=tuple(model.sender for model in everybody), models=everybody)
    assert not deployed.ledgers["west"].events("received")
    assert "seed did not draw" in deployed.ledgers["west"].events("refused")[0].note


def test_the_draw_of_the_simulator_is_the_one_sites_compute(world: World) -> None:
    deployed = running(world, peers_per_client=2, participation=0.75)
    protocol = deployed.terms.blueprint.study
    for place in protocol.cohort(1):
        invitation = message_to(deployed, deployed.file.sites[place]).invitation
        drawn = {deployed.file.sites[c] for c in protocol.peers_of(place, 1)}
        assert set(invitation.peers) <= drawn
        assert len(drawn) == 2
