"""Faults of studies with shared keys, every one of them again where a committee opens the sums."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.joint.tags import TagRoot
from tests.coordinator import test_coordinator as of_the_server
from tests.coordinator import test_rounds as of_rounds
from tests.coordinator import test_verdicts as of_verdicts
from tests.site import test_agent as of_a_site

pytestmark = pytest.mark.slow
World = Callable[..., Any]
AGAIN = [
    of_the_server.test_a_late_site_is_given_every_outcome_and_stands_where_the_others_stand,
    of_the_server.test_a_server_killed_after_the_last_round_still_tells_everybody_that_it_is_over,
    of_the_server.test_a_node_without_a_rostered_key_counts_for_nothing,
    of_the_server.test_an_old_answer_fits_no_new_question,
    of_the_server.test_the_study_ends_for_the_server_although_a_site_never_comes_back,
    of_the_server.test_a_moved_clock_changes_nothing_because_nobody_asks_it,
    of_rounds.test_a_round_ends_at_its_deadline_with_whoever_came,
    of_rounds.test_if_too_few_send_although_all_answered_there_is_no_sum,
    of_rounds.test_with_enough_others_a_round_does_not_wait_for_a_halted_site,
    of_verdicts.test_one_site_that_cries_wolf_is_outvoted,
    of_verdicts.test_reports_in_anothers_name_or_on_another_sum_count_for_nothing,
    of_a_site.test_noise_at_the_socket_does_not_fill_the_ledger,
]


@pytest.mark.parametrize("fault", AGAIN, ids=lambda fault: fault.__name__)
def test_again_with_joint_keys(fault: Callable[..., None], world: World, request: pytest.FixtureRequest) -> None:
    others = {name: request.getfixturevalue(name) for name in inspect.signature(fault).parameters if name != "world"}
    fault(world=partial(world, keys="joint"), **others)


@pytest.mark.parametrize("fault", ["foreign", "altered", "other site"])
def test_messages_nobody_should_answer_are_refused_and_recorded(world: World, fault: str) -> None:
    """The first with content is a duty of the committee; for an old one see tests/site/joint/test_hostile_server.py."""
    of_a_site.test_messages_nobody_should_answer_are_refused_and_recorded(partial(world, keys="joint"), fault)


def test_two_nodes_of_one_site_count_once(world: World) -> None:
    deployed = world(rounds=1, keys="joint")
    deployed.start_all()
    deployed.run(until=lambda server: server.rounds.open is not None and server.rounds.server.legs.stage == "uploads")
    for node in (0, 77, 0, 77):
        deployed.post("north", node)
    assert deployed.server.rounds.server.contributors == ("north",)
    deployed.run()
    assert len(deployed.state.outcome(0).weights) == 4


def test_who_spoils_sums_is_found_though_the_server_is_killed_in_every_round(world: World) -> None:
    deployed = world(rounds=7, keys="joint", method="fedavg", min_cohort=3)
    deployed.start_server()
    for name in deployed.file.sites:
        honest, deployed.root = deployed.root, TagRoot.generate() if name == "west" else deployed.root
        deployed.start_agent(name, max_rejected_sums=9)
        deployed.root = honest
    for closed in range(1, 7):
        deployed.run(until=lambda server, closed=closed: server.round_index == closed)
        for node, name in enumerate(deployed.file.sites[:2]):
            deployed.post(name, node)
        before = deployed.server.rounds.verdicts.suspects
        deployed.start_server()
        assert deployed.server.rounds.verdicts.suspects == before
    deployed.run()
    assert deployed.server.rounds.verdicts.suspects == {"west"}
    others = [deployed.agents[name] for name in ("north", "east", "south")]
    assert all(agent.halted is None for agent in others)
    for agent in others:
        np.testing.assert_array_equal(agent.state.theta_global, others[0].state.theta_global)
