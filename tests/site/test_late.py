"""A rostered site that comes late: mid-study it takes part from then on, after the last round it has one of its own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from secure_sapefl.site.trainer.training import Asked, OwnProcess
from secure_sapefl.study.settings import PrivacyTerms
from secure_sapefl.transport.wire import ToSite, read_to_server, read_to_site, write_to_site

PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")
World = Callable[..., Any]


def closed(rounds: int) -> Callable[[Any], bool]:
    return lambda server: server.round_index == rounds


def last_message(deployed: Any, name: str = "west", node: int = 3) -> tuple[bytes, ...]:
    """The one that tells a site the end, which was away until all rounds were closed."""
    deployed.post(name, node)
    message = deployed.server.next_message(node)
    assert message is not None
    return tuple(message)


def at_the_end(deployed: Any, **changes: Any) -> tuple[bytes, ...]:
    """The message that tells `west` the end of a study it was away from, with changes its coordinator signed too."""
    deployed.start_all()
    deployed.run("west", until=closed(3))
    content = read_to_site(last_message(deployed), deployed.coordinator_identity.public, deployed.file.wire_name)
    return write_to_site(replace(content, **changes), deployed.coordinator_identity, deployed.file.wire_name)


def test_after_the_last_round_a_site_gets_a_model_of_its_own_and_nothing_leaves(world: World) -> None:
    deployed = world()
    deployed.start_all()
    deployed.run("west", until=closed(3))
    others = {name: deployed.agents[name].state.own["theta_personal"].clone() for name in ("north", "east", "south")}
    agent = deployed.agents["west"]
    untrained = agent.state.own["theta_personal"].clone()
    message = last_message(deployed)
    invitation = read_to_site(message, deployed.coordinator_identity.public, deployed.file.wire_name).invitation
    assert invitation.round_index == 3
    assert [(model.sender, model.round_index) for model in invitation.models] == [
        ("north", 2),
        ("east", 2),
        ("south", 2),
    ]
    answer = read_to_server(agent.answer(message), deployed.file.keys_by_name, deployed.file.wire_name)
    assert (answer.upload, answer.declined, answer.untrained) == (None, None, False)
    assert agent.over
    own = agent.state.own["theta_personal"]
    assert not torch.equal(own, untrained)
    assert not torch.equal(own[0], agent.state.theta_global)
    assert not deployed.ledgers["west"].events("sent")
    (came,) = deployed.ledgers["west"].events("received")
    assert (came.message, came.size, came.round_index) == ("peers' models", invitation.size, 3)
    for name, before in others.items():
        assert torch.equal(deployed.agents[name].state.own["theta_personal"], before)


def test_that_model_leans_on_peers_and_fits_the_sites_own_rows(world: World) -> None:
    deployed = world(local_epochs=5)
    deployed.start_all()
    deployed.run("west", until=closed(3))
    message, agent = last_message(deployed), deployed.agents["west"]
    invitation = read_to_site(message, deployed.coordinator_identity.public, deployed.file.wire_name).invitation
    agent.answer(message)
    with_peers = agent.state.own["theta_personal"]
    alone, _ = agent.site.join_late(agent.state, replace(invitation, peers=(), models=()))
    assert not torch.allclose(with_peers, alone["theta_personal"])
    rows = deployed.rows["west"].train
    x, y = torch.from_numpy(rows.X)[None], torch.from_numpy(rows.y)
    own, common = (
        torch.nn.functional.cross_entropy(deployed.terms.blueprint.model.outputs(theta, x)[0], y)
        for theta in (with_peers, agent.state.theta_global[None])
    )
    assert own < common


def test_a_restarted_server_still_has_the_models_for_it(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run("west")
    deployed.start_server()
    deployed.run()
    assert deployed.agents["west"].over
    assert deployed.ledgers["west"].events("received")


def test_a_site_that_took_part_is_sent_no_models_at_the_end(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run("west", until=closed(1))
    message, agent = deployed.server.next_message(0), deployed.agents["north"]
    content = read_to_site(message, deployed.coordinator_identity.public, deployed.file.wire_name)
    assert content.over
    assert content.invitation is None
    before = agent.state.own["theta_personal"]
    agent.answer(message)
    assert agent.over
    assert torch.equal(agent.state.own["theta_personal"], before)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The personal models with which sites began their rounds."""
    found, genuine = list[torch.Tensor](), OwnProcess.contribution

    def watched(training: OwnProcess, asked: Asked) -> Any:
        found.append(asked.own["theta_personal"][0].clone())
        return genuine(training, asked)

    monkeypatch.setattr(OwnProcess, "contribution", watched)
    return found


def test_mid_study_a_site_begins_at_the_global_model_and_takes_part(world: World, starts: list[torch.Tensor]) -> None:
    deployed = world()
    deployed.start_all()
    deployed.run("west", until=closed(2))
    starts.clear()
    agent = deployed.agents["west"]
    while agent.state.answered < 0:
        deployed.post("west", 3)
    assert torch.equal(starts[0], agent.state.theta_global)
    assert [event.round_index for event in deployed.ledgers["west"].events("sent")] == [2]
    deployed.run()
    assert "west" in dict(deployed.state.outcome(2).weights)
    assert not deployed.ledgers["west"].events("received")  # it has its own model, from its own round


def test_one_that_is_drawn_late_begins_where_a_simulated_one_does(world: World, starts: list[torch.Tensor]) -> None:
    deployed = world(participation=0.75)
    deployed.start_all()
    protocol = deployed.terms.blueprint.study
    place = next(c for c in range(4) if c not in protocol.cohort(0) and c in protocol.cohort(1))
    agent = deployed.agents[deployed.file.sites[place]]
    deployed.run(until=closed(1))
    starts.clear()
    while agent.state.answered < 0:
        deployed.post(agent.site.name, place)
    assert torch.equal(starts[0], agent.site.training.theta_initial)
    assert not torch.equal(starts[0], agent.state.theta_global)


def test_mid_study_a_late_site_pays_and_after_the_last_round_it_does_not(world: World) -> None:
    spent = {}
    for missed in (2, 3):
        deployed = world(privacy=PRIVATE)
        deployed.start_all()
        deployed.run("west", until=closed(missed))
        deployed.run()
        spent[missed] = deployed.agents["west"].epsilon
        assert deployed.agents["west"].over
        assert not torch.equal(deployed.agents["west"].state.own["theta_personal"][0], _initial(deployed))
        assert len(deployed.ledgers["west"].events("sent")) == 3 - missed
    assert spent[2] > 0
    assert spent[3] == 0


def test_a_site_that_could_never_pay_ends_with_a_model_too(world: World) -> None:
    deployed = world(privacy=PRIVATE, rounds=2)
    deployed.start_all()
    agent = deployed.start_agent("west", max_epsilon_lifetime=0.01)
    deployed.run()
    assert not deployed.ledgers["west"].events("sent")
    assert agent.epsilon == 0
    assert deployed.ledgers["west"].events("received")
    assert not torch.equal(agent.state.own["theta_personal"][0], _initial(deployed))


def test_invented_peers_are_not_listened_to(world: World) -> None:
    deployed = world()
    deployed.start_all()
    deployed.run("west", until=closed(3))
    message, agent = last_message(deployed), deployed.agents["west"]
    content = read_to_site(message, deployed.coordinator_identity.public, deployed.file.wire_name)
    forged = replace(content, invitation=replace(content.invitation, peers=("stranger",)))
    agent.answer(write_to_site(forged, deployed.coordinator_identity, deployed.file.wire_name))
    assert [event.note for event in deployed.ledgers["west"].events("refused")] == [
        "peers that the study's seed did not draw for this site: stranger."
    ]
    np.testing.assert_array_equal(agent.state.own["theta_personal"][0], agent.state.theta_global)


def test_told_the_end_without_peers_a_site_has_the_global_model(world: World) -> None:
    deployed = world()
    bare = at_the_end(deployed, invitation=None)
    deployed.agents["west"].answer(bare)
    state = deployed.agents["west"].state
    np.testing.assert_array_equal(state.own["theta_personal"][0], state.theta_global)


def test_nobody_is_told_the_end_before_it(world: World) -> None:
    deployed = world()
    agent = deployed.start_agent("west")
    early = ToSite(site="west", round_index=0, nonce="n", over=True)
    agent.answer(write_to_site(early, deployed.coordinator_identity, deployed.file.wire_name))
    assert not agent.over


def test_a_round_of_ones_own_is_never_answered_with_an_upload(world: World) -> None:
    """A coordinator that forgets to say that the study is over gets nothing either."""
    deployed = world()
    asked = at_the_end(deployed, over=False)
    answer = read_to_server(deployed.agents["west"].answer(asked), deployed.file.keys_by_name, deployed.file.wire_name)
    assert answer.upload is None
    assert "not drawn" in str(answer.declined)


@pytest.mark.parametrize(("method", "invited"), [("fedavg", False), ("ditto", True)])
def test_methods_without_relayed_models(world: World, method: str, invited: bool) -> None:
    """FedAvg keeps nothing at a site, whose model is the global one; Ditto trains its own against the global one."""
    deployed = world(method=method, rounds=1)
    deployed.start_all()
    deployed.run("west", until=closed(1))
    message = read_to_site(last_message(deployed), deployed.coordinator_identity.public, deployed.file.wire_name)
    assert (message.invitation is not None) == invited
    assert message.invitation is None or message.invitation.models == ()


def test_the_end_is_remembered(world: World) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run()
    assert deployed.start_agent("west").over


def _initial(deployed: Any) -> torch.Tensor:
    theta: torch.Tensor = deployed.agents["west"].site.training.theta_initial
    return theta
