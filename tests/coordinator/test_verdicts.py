"""One hostile site spoils sums with wrong tags: it is found and left out, the study goes on, and nobody else is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import CohortKey
from secure_sapefl.coordinator.verdicts import PublishedSum
from secure_sapefl.transport.reports import digest_of, write_report
from secure_sapefl.transport.wire import read_to_server, write_to_server

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
