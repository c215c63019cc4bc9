"""One hostile site spoils sums with wrong tags: it is found and left out, the study goes on, and nobody else is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import CohortKey
from secure_sapefl.coordinator.verdicts import PublishedSum
from secure_sapefl.protocol.messages import RoundOutcome
from secure_sapefl.transport.reports import digest_of, write_report
from secure_sapefl.transport.wire import ToSite, read_to_server, read_to_site, write_to_server, write_to_site

World = Callable[..., Any]


def hostile(deployed: Any, name: str, rounds: Callable[[int], bool] = lambda _: True) -> None:
    """From now on this site encrypts under the right plan with a key of its own: the server cannot tell, tags can."""
    agent, wrong = deployed.agents[name], CohortKey.generate(deployed.key.params)
    genuine = agent.site.take_part

    def take_part(state: Any, invitation: Any) -> Any:
        upload, own, refusals = genuine(state, invitation)
        if rounds(invitation.round_index):
            values = np.zeros(deployed.terms.blueprint.study.parameters, np.float32)
            frame = wrong.encrypt(
                values, study=deployed.file.wire_name, round_index=invitation.round_index, sender=name
            )
            upload = replace(upload, update=frame)
        return upload, own, refusals

    agent.site.take_part = take_part


def wrong_sums(deployed: Any, name: str) -> list[int]:
    refused = deployed.ledgers[name].events("refused")
    return [event.round_index for event in refused if event.checks == {"tags": False}]


def honest(deployed: Any, name: str) -> list[Any]:
    return [agent for other, agent in deployed.agents.items() if other != name]


@pytest.mark.parametrize("name", ["north", "south"])
def test_the_author_is_found_and_the_study_goes_on_without_it(world: World, name: str) -> None:
    deployed = world(rounds=6, min_cohort=2)
    deployed.start_server()
    for site in deployed.file.sites:
        deployed.start_agent(site, min_cohort=2, min_effective_cohort=1.0, max_share=1.0)
    hostile(deployed, name)
    deployed.run()
    last = deployed.state.outcome(5)
    assert {sender for sender, _ in last.weights} == set(deployed.file.sites) - {name}
    assert deployed.server.rounds.verdicts.suspects == {name}
    assert last.left_out == (name,)
    assert f"sums with {name} in it are wrong" in last.refusals[-1].reason
    models = [agent.state.theta_global for agent in honest(deployed, name)]
    for agent in honest(deployed, name):
        assert agent.halted is None
        assert agent.over
        np.testing.assert_array_equal(agent.state.theta_global, models[0])
        assert len(wrong_sums(deployed, agent.state.site)) <= 3  # the first, and at most one in each of two halvings
    assert not np.array_equal(models[0], deployed.agents[name].site.first_state().theta_global)


def test_it_is_found_one_by_one_where_the_policy_leaves_room_for_no_more(world: World) -> None:
    """Four sites, and a round counts with three: one is left out at a time, and no sum has fewer than three."""
    deployed = world(rounds=5, min_cohort=3)
    deployed.start_all()
    hostile(deployed, "west")
    deployed.run()
    for index in range(5):
        assert len(deployed.state.outcome(index).weights) >= 3
    assert deployed.server.rounds.verdicts.suspects == {"west"}
    assert all(agent.halted is None for agent in honest(deployed, "west"))
    assert wrong_sums(deployed, "north") == [0, 1, 2, 3]  # with all; without north, east, south in turn
    assert deployed.state.outcome(4).left_out == ("west",)


def test_one_release_a_round_although_rounds_are_begun_anew(world: World) -> None:
    deployed = world(rounds=3, min_cohort=3, privacy={"epsilon": 8.0, "delta": 1e-4})
    deployed.start_all()
    hostile(deployed, "south")
    deployed.run()
    for name, ledger in deployed.ledgers.items():
        digests: dict[int, set[str]] = {}
        for event in ledger.events("sent"):
            digests.setdefault(event.round_index, set()).add(event.digest)
        assert all(len(found) == 1 for found in digests.values()), name


def test_a_server_that_is_killed_in_the_middle_goes_on_searching(world: World) -> None:
    deployed = world(rounds=7, min_cohort=3)
    deployed.start_all()
    hostile(deployed, "west")
    for closed in range(1, 7):
        deployed.run(until=lambda server, closed=closed: server.round_index == closed)
        for node, name in enumerate(deployed.file.sites[:2]):
            deployed.post(name, node)
        before = deployed.server.rounds.verdicts.suspects
        deployed.start_server()
        assert deployed.server.rounds.verdicts.suspects == before
    deployed.run()
    assert deployed.server.rounds.verdicts.suspects == {"west"}
    assert all(agent.halted is None for agent in honest(deployed, "west"))


def test_one_site_that_cries_wolf_is_outvoted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = world(rounds=3)
    deployed.start_all()
    agent, genuine = deployed.agents["west"], deployed.agents["west"].answer

    def lying(parts: Any) -> Any:
        said = read_to_server(genuine(parts), deployed.file.keys_by_name, deployed.file.wire_name)
        digests = [digest_of(deployed.state.outcome(index).aggregate) for index in range(said.absorbed)]
        study, identity = deployed.file.wire_name, deployed.identities["west"]
        reports = tuple(write_report(identity, study, index, digest) for index, digest in enumerate(digests))
        return write_to_server(replace(said, reports=reports), identity, study)

    monkeypatch.setattr(agent, "answer", lying)
    deployed.run()
    assert deployed.server.rounds.verdicts.suspects == frozenset()
    assert 0 not in deployed.server.rounds.verdicts._sums  # settled, and nobody is searched for
    assert [len(deployed.state.outcome(index).weights) for index in range(3)] == [4, 4, 4]


def test_reports_in_anothers_name_or_on_another_sum_count_for_nothing(world: World) -> None:
    deployed = world(rounds=2)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    digest, study = digest_of(deployed.state.outcome(0).aggregate), deployed.file.wire_name
    forged = (
        write_report(deployed.identities["east"], study, 0, digest),
        write_report(deployed.identities["north"], study, 0, "00" * 32),
        write_report(deployed.identities["north"], "other:study", 0, digest),
        b"noise",
    )
    answer = read_to_server(
        deployed.agents["north"].answer(deployed.server.next_message(0)), deployed.file.keys_by_name, study
    )
    assert not deployed.server.rounds.verdicts.hear(replace(answer, reports=forged))
    assert not deployed.server.rounds.verdicts._sums[0].reports  # nothing public tells of a report that does not count


@pytest.mark.parametrize(
    ("rejecters", "holders", "unjudged", "verdict"),
    [
        ("ne", "s", "", False),
        ("ns", "", "e", False),
        ("n", "es", "", True),
        ("n", "e", "s", None),  # one word against one: the liar may be either
        ("", "", "nes", None),
        ("n", "", "", None),
    ],
)
def test_a_sum_is_wrong_or_sound_by_majority_and_nothing_otherwise(
    rejecters: str, holders: str, unjudged: str, verdict: bool | None
) -> None:
    about = PublishedSum("", ("n", "e", "s"), dict.fromkeys(rejecters, b""), set(holders), set(unjudged))
    assert about.verdict() is verdict


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


# halting


def spoilt(deployed: Any, index: int) -> RoundOutcome:
    """The honest sum of a round, with another payload."""
    from sapefl_crypto import Aggregate

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
