"""A deployed study with joint keys under faults: who may be away, what is begun anew, which sum stays closed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.joint.tags import TagRoot
from secure_sapefl.protocol.joint.consents import Settled
from secure_sapefl.protocol.joint.messages import Endorsement
from secure_sapefl.study.settings import PrivacyTerms

World = Callable[..., Any]
PRIVATE = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")


def started(world: World, **fields: Any) -> Any:
    deployed = world(**{"method": "fedavg", "rounds": 1, "keys": "joint"} | fields)
    deployed.start_all()
    return deployed


def until(stage: str) -> Callable[[Any], bool]:
    return lambda server: server.rounds.open is not None and server.rounds.server.legs.stage == stage


def theta(deployed: Any, name: str = "north") -> np.ndarray:
    return deployed.agents[name].state.theta_global.numpy()


def begun(deployed: Any) -> np.ndarray:
    return deployed.agents["north"].site.first_state().theta_global.numpy()


def outcome(deployed: Any, index: int = 0) -> Any:
    return deployed.state.outcome(index)


def test_every_site_opens_every_sum_and_signs_one_claim_a_round(world: World) -> None:
    deployed = started(world, rounds=2)
    deployed.run()
    for name in deployed.file.sites:
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed))
        signed = deployed.ledgers[name].events("signed")
        assert [(event.round_index, event.message) for event in signed] == [(0, "claim, update"), (1, "claim, update")]
        assert not (deployed.folder / name / "answer.npz").exists(), "no update outlives its round"
    assert len({event.digest for name in deployed.file.sites for event in deployed.ledgers[name].events("signed")}) == 2
    assert not np.array_equal(theta(deployed), begun(deployed))
    work = [one["committee"] for one in deployed.server.status()["history"]]
    assert [one["attempt"] for one in work] == [0, 0]
    assert all(one["bytes_up"] > 4 * 30_000 and one["bytes_down"] > 4 * 30_000 for one in work)
    assert all(4 * 61_000 < one["bytes_of_shares"] < 4 * 64_000 for one in work), "two seeds, and two of 30 kB, a site"


def test_one_member_may_be_away_from_the_start(world: World) -> None:
    deployed = started(world)
    deployed.run("west", until=lambda server: server.round_index == 1)
    assert {name for name, _ in outcome(deployed).weights} == {"north", "east", "south"}
    assert outcome(deployed).aggregate is not None


def test_with_one_more_away_the_round_waits_before_anybody_has_trained(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    deployed = started(world)
    for _ in range(20):
        for node, name in enumerate(("north", "east")):
            deployed.post(name, node)
        deployed.clock.now += 10
        deployed.server.rounds.advance()
    assert deployed.server.rounds.server.legs.stage == "keys"
    assert "2 of 4 members of the committee announced a key, 3 are needed (missing: south, west)" in caplog.text
    assert not deployed.ledgers["north"].events("sent")
    deployed.run()
    assert outcome(deployed).aggregate is not None


@pytest.mark.parametrize("stage", ["deliveries", "claim", "answers"])
def test_after_the_uploads_one_may_be_lost_and_not_two(world: World, stage: str) -> None:
    """Who sent is in the sum, whether or not it is there when the sum is opened."""
    deployed = started(world)
    deployed.run(until=until(stage))
    deployed.run("north", until=lambda server: server.round_index == 1)
    assert {name for name, _ in outcome(deployed).weights} == set(deployed.file.sites)
    assert outcome(deployed).aggregate is not None
    lost = started(world)
    lost.run(until=until(stage))
    lost.run("north", "east", until=lambda server: server.round_index == 1)
    assert outcome(lost).aggregate is None
    (reason,) = (refusal.reason for refusal in outcome(lost).refusals if refusal.site == "server")
    assert "of 4 members of the committee" in reason
    assert reason.endswith("the sum stays closed.")
    assert "missing: east, north" in reason
    lost.run()
    assert reason in [event.note for event in lost.ledgers["south"].events("checked")]


def held_back(deployed: Any, name: str, stage: str) -> tuple[int, Any]:
    """The site's answer in this stage, still on its way."""
    node = deployed.file.sites.index(name)
    deployed.run(name, until=until(stage))
    parts = deployed.server.next_message(node)
    while until(stage)(deployed.server) and parts is not None:
        answer = deployed.agents[name].answer(parts)
        if deployed.server.sites[name].heard is not None:
            return node, answer
        deployed.server.receive(node, answer)
        parts = deployed.server.next_message(node)
    raise AssertionError("nothing was asked")


def test_an_upload_that_comes_after_the_uploads_is_in_no_claim(world: World) -> None:
    """Its shares went to nobody: members would refuse a claim that names it."""
    deployed = started(world)
    node, answer = held_back(deployed, "north", "uploads")
    deployed.run("north", until=until("deliveries"))
    deployed.server.receive(node, answer)
    deployed.run()
    assert {name for name, _ in outcome(deployed).weights} == {"east", "south", "west"}
    assert outcome(deployed).aggregate is not None


def test_what_comes_from_an_attempt_that_is_over_is_asked_for_again(world: World) -> None:
    deployed = started(world)
    node, answer = held_back(deployed, "north", "uploads")
    deployed.server.rounds.open = deployed.server.rounds._begin(0)  # as if members had lost their keys
    deployed.run("north", until=until("uploads"))
    deployed.server.receive(node, answer)
    deployed.run()
    assert {name for name, _ in outcome(deployed).weights} == set(deployed.file.sites)
    assert outcome(deployed).refusals == ()


def test_a_member_killed_before_it_signs_is_done_without(world: World) -> None:
    deployed = started(world)
    deployed.run(until=until("claim"))
    deployed.start_agent("west")
    deployed.run()
    assert not deployed.ledgers["west"].events("signed")
    np.testing.assert_array_equal(theta(deployed, "west"), theta(deployed))
    assert outcome(deployed).aggregate is not None


def test_a_member_killed_after_it_signed_cannot_answer_and_signs_nothing_else(world: World) -> None:
    deployed = started(world)
    deployed.run(until=lambda server: bool(deployed.ledgers["west"].events("signed")) and until("answers")(server))
    before = deployed.ledgers["west"].events("signed")
    deployed.start_agent("west")
    deployed.run()
    assert deployed.ledgers["west"].events("signed") == before
    assert outcome(deployed).aggregate is not None


def test_members_that_lost_their_keys_before_the_claim_get_another_attempt(world: World) -> None:
    """The same updates under other keys: nothing is trained or paid again."""
    deployed = started(world, privacy=PRIVATE)
    deployed.run(until=until("deliveries"))
    spent = {name: deployed.agents[name].epsilon for name in deployed.file.sites}
    for name in ("south", "west"):
        deployed.start_agent(name)
    deployed.run()
    assert deployed.server.status()["history"][0]["committee"]["attempt"] == 1
    assert outcome(deployed).aggregate is not None
    for name in deployed.file.sites:
        assert deployed.agents[name].epsilon == spent[name]
        assert [event.note for event in deployed.ledgers[name].events("sent")][
            -1
        ] == "the same update under another key"
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed))


@pytest.mark.parametrize("stage", ["keys", "uploads", "deliveries"])
def test_a_server_killed_before_the_claim_begins_another_attempt(world: World, stage: str) -> None:
    reference = started(world)
    reference.run()
    deployed = world(method="fedavg", rounds=1, keys="joint")
    deployed.start_all()
    deployed.run(until=until(stage))
    if stage == "uploads":
        deployed.post("north", 0)
    deployed.start_server()
    deployed.run()
    assert deployed.server.status()["history"][0]["committee"]["attempt"] == 1
    np.testing.assert_array_equal(theta(deployed), theta(reference))


@pytest.mark.parametrize("stage", ["claim", "answers"])
def test_a_server_killed_after_the_claim_goes_on_with_it(world: World, stage: str) -> None:
    """There is no other: answers that were lost are given again for the same digest."""
    deployed = started(world, method="sapefl", rounds=2)
    deployed.run(until=lambda server: server.round_index == 1)
    deployed.run(until=until(stage))
    deployed.start_server()
    assert until("claim")(deployed.server)
    deployed.run()
    assert deployed.server.status()["history"][1]["committee"]["attempt"] == 0
    assert outcome(deployed, 1).aggregate is not None
    assert len(deployed.state.models) == 4, "the models that came with it go on"
    for name in deployed.file.sites:
        assert len(deployed.ledgers[name].events("signed")) == 2
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed))


def test_a_sum_that_stays_closed_costs_that_round_and_no_other(world: World) -> None:
    deployed = started(world, rounds=2)
    deployed.run(until=until("answers"))
    for name in ("north", "east"):
        deployed.start_agent(name)
    deployed.run()
    assert [outcome(deployed, index).aggregate is None for index in (0, 1)] == [True, False]
    np.testing.assert_array_equal(theta(deployed, "west"), theta(deployed))


def test_a_member_that_answers_wrongly_is_named_and_done_without(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    deployed = started(world)
    deployed.run(until=until("claim"))
    liar = deployed.agents["east"].site.keys._seat._legs._member  # one whose software was changed
    liar._shares["north"][7] ^= 1  # as above
    deployed.run()
    assert "the answer of 'east' is wrong, or what was dealt to it" in caplog.text
    assert not np.array_equal(theta(deployed), begun(deployed))
    for name in deployed.file.sites:
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed))


def test_members_hold_a_claim_to_their_own_rules(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Three senders are enough for the study; two members ask for four, and without them nobody opens it. Why they do
    not sign stands in the outcome, which goes to all, and in the server's log."""
    deployed = started(world, min_cohort=3)
    for name in ("north", "east"):
        deployed.start_agent(name, min_cohort=4)
    deployed.run(until=until("uploads"))
    deployed.run("west", until=lambda server: not until("uploads")(server))
    deployed.run(until=lambda server: server.round_index == 1)
    assert outcome(deployed).aggregate is None
    assert "signed the claim" in outcome(deployed).refusals[-1].reason
    said = {one.site: one.reason for one in outcome(deployed).refusals if "declined as a member" in one.reason}
    assert set(said) == {"north", "east"}
    assert all("minimum cohort" in reason for reason in said.values()), said
    assert "declined as a member" in caplog.text


def test_committees_are_drawn_from_nonces_that_all_committed_to(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 3)
    deployed = started(world, rounds=2)
    deployed.run("west", until=lambda server: server.rounds.waiting == ["west"])
    assert deployed.server.rounds.open is None, "without the last one nothing begins"
    deployed.start_server()
    deployed.run()
    nonces = deployed.server.rounds._consents.nonces  # as every site has them by now
    assert set(nonces) == set(deployed.file.sites)
    committee = deployed.terms.joint(nonces).committee(0)
    assert len(committee.members) == 3
    signed = {
        name for name in deployed.file.sites if any(e.round_index == 0 for e in deployed.ledgers[name].events("signed"))
    }
    assert signed == set(committee.members)
    assert all(outcome(deployed, index).aggregate is not None for index in (0, 1))
    for name in deployed.file.sites:
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed))


def test_a_study_that_only_relays_needs_no_committee(world: World) -> None:
    deployed = started(world, method=relay_method())
    deployed.run()
    assert not deployed.ledgers["north"].events("signed")
    assert deployed.agents["north"].state.answered == 0


def relay_method() -> str:
    from secure_sapefl.algorithms.base import Homomorphic
    from secure_sapefl.algorithms.registry import ALGORITHMS

    return next(name for name, one in ALGORITHMS.items() if one.homomorphic is Homomorphic.RELAY)


@pytest.mark.parametrize("author", [pytest.param("north", marks=pytest.mark.slow), "west"])
def test_the_search_for_who_spoils_sums_leaves_enough_to_open_one(world: World, author: str) -> None:
    """Of four, three open a sum: one at a time is left out, though the study would let two be a round."""
    deployed = world(method="fedavg", rounds=6, keys="joint", min_cohort=2)
    deployed.start_server()
    for name in deployed.file.sites:
        honest, deployed.root = deployed.root, TagRoot.generate() if name == author else deployed.root
        deployed.start_agent(name, min_cohort=2, min_effective_cohort=1.0, max_share=1.0, max_rejected_sums=9)
        deployed.root = honest
    deployed.run()
    others = [name for name in deployed.file.sites if name != author]
    assert outcome(deployed, 5).left_out == (author,)
    assert all(outcome(deployed, index).aggregate is not None for index in range(6))
    assert {name for name, _ in outcome(deployed, 5).weights} == set(others)
    for name in others:
        np.testing.assert_array_equal(theta(deployed, name), theta(deployed, others[0]))
    assert not np.array_equal(theta(deployed, others[0]), begun(deployed))


def test_a_member_whose_answers_do_not_hold_is_asked_now_and_then_and_named_once(world: World) -> None:
    """Asked again at once, it would keep the server busy until the deadline and fill an outcome that goes to all."""
    deployed = started(world)
    deployed.run(until=until("claim"))
    deployed.agents["west"].site.keys.perform = lambda _: Endorsement(site="west", signature=b"none")
    posted = [deployed.post("west", 3) for _ in range(5)]
    assert posted == [True, False, False, False, False]
    deployed.clock.now += 20
    assert [deployed.post("west", 3) for _ in range(2)] == [True, False]
    deployed.run(until=lambda server: server.round_index == 1)
    assert outcome(deployed).aggregate is not None
    assert [refusal.site for refusal in outcome(deployed).refusals] == ["west"]


def test_a_site_that_shows_no_nonce_is_asked_now_and_then(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapefl_crypto.joint.drawing.ALL_SIT_UP_TO", 3)
    deployed = started(world)
    deployed.agents["west"].site.keys.answer = lambda _: Settled(site="west")
    assert [deployed.post("west", 3) for _ in range(4)] == [True, True, False, False], "who is there, then one call"
    deployed.clock.now += 20
    assert deployed.post("west", 3)
