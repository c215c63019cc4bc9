"""Test results that leave as a sum: through a whole deployed study, and what a server can and cannot do to it."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sapefl_crypto import ClaimPolicy
from sapefl_crypto.errors import AggregateRejected, CryptoError
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.counts import RESULT_NOISE, multiplier_of_results
from secure_sapefl.privacy.events import TEST_RESULTS, Budget
from secure_sapefl.privacy.randomness import KeyedRandomness
from secure_sapefl.protocol.encrypted import CkksCodec
from secure_sapefl.protocol.results import RESULTS, results_plan, row_counts
from secure_sapefl.protocol.sums import NOISE_OFFSET
from secure_sapefl.site.own_model import common_model
from secure_sapefl.streams import Purpose, stream
from secure_sapefl.transport.wire import ToServer, read_to_server, write_to_server
from tests.deployed_study import PRIVATE

Build = Callable[..., Any]


@pytest.fixture
def summed(world: Build) -> Any:
    deployed = world(rounds=2, method="fedavg", metrics="sum")
    deployed.policy = deployed.policy.model_copy(update={"metrics_may_leave": "sum"})
    deployed.start_all()
    return deployed


def test_the_server_is_told_mean_and_spread_and_nobodys_own(summed: Any) -> None:
    summed.run()
    told = summed.server.status()["results"]
    assert (told["sites"], told["agreed"]) == (4, 4)
    own = {name: [agent.judged.own[name] for agent in summed.agents.values()] for name in RESULTS}
    for name, values in own.items():
        assert told["results"][name]["mean"] == pytest.approx(np.mean(values), abs=5e-4)
        assert told["results"][name]["std"] == pytest.approx(np.std(values), abs=1e-3)
    for ledger in summed.ledgers.values():
        left = [event for event in ledger.events("sent") if event.message == "test results"]
        assert len(left) == 1
        assert left[0].round_index is None  # it is no answer to a round
        assert [e.checks for e in ledger.events("checked") if e.message == "sum of test results"]
    kept = (summed.folder / "server" / "results.json").read_text()
    assert json.loads(kept)["senders"] == 4


def test_without_the_cohort_key_a_frame_says_nothing_and_with_it_a_site_opens_no_single_one(summed: Any) -> None:
    summed.run()
    frame = (summed.folder / "north" / "results").read_bytes()
    plan = results_plan(summed.terms.params, summed.terms.blueprint.study, least=1)
    assert len(frame) > 1000
    alone = plan.added({"north": frame})  # what a dishonest server would send for the sum
    with pytest.raises((AggregateRejected, BadInput)):
        summed.agents["east"].site.opened_results(alone, None)
    with pytest.raises(CryptoError):  # another round's key material: it fits nowhere else
        CkksCodec(summed.key, ClaimPolicy()).decrypt(alone, study=plan.study, round_index=0)


def test_a_site_whose_owner_says_no_sends_nothing_and_below_the_least_there_is_no_sum(world: Build) -> None:
    deployed = world(rounds=1, method="fedavg", metrics="sum", min_cohort=3)
    deployed.policy = deployed.policy.model_copy(update={"metrics_may_leave": "sum"})
    deployed.start_server()
    for name in deployed.file.sites:
        deployed.start_agent(name, metrics_may_leave="sum" if name in ("north", "east") else False)
    deployed.run()
    assert deployed.server.status()["results"] is None
    assert deployed.server.results.sum is None
    assert not (deployed.folder / "south" / "results").exists()
    assert all(agent.over for agent in deployed.agents.values())


def test_a_site_that_never_comes_is_not_waited_for_longer_than_a_round(summed: Any) -> None:
    """And without it there are too few: two others' results would follow from mean and spread."""
    summed.run("west")
    assert summed.server.results.settled
    assert summed.server.status()["results"] is None
    assert all(agent.over for name, agent in summed.agents.items() if name != "west")


def test_after_a_crash_of_either_side_the_same_frame_leaves_and_the_sum_is_made_once(summed: Any) -> None:
    summed.run(until=lambda server: any(server.results.has_heard(site) for site in summed.file.sites))
    kept = {
        name: path.read_bytes() for name in summed.file.sites if (path := summed.folder / name / "results").exists()
    }
    assert kept
    summed.start_server()
    for name in kept:
        summed.start_agent(name)
    summed.run()
    for name, frame in kept.items():
        assert (summed.folder / name / "results").read_bytes() == frame
        assert len([e for e in summed.ledgers[name].events("sent") if e.message == "test results"]) == 1
    total = summed.server.results.sum
    summed.start_server()
    assert summed.server.results.sum == total
    assert summed.server.status()["results"]["agreed"] == 4


def changed_answers(summed: Any, name: str, change: Callable[[ToServer], ToServer]) -> None:
    """A site that says something else than its agent does."""
    honest = summed.agents[name].answer

    def lying(parts: Any) -> Any:
        said = read_to_server(honest(parts), summed.file.keys_by_name, summed.file.wire_name)
        return write_to_server(change(said), summed.identities[name], summed.file.wire_name)

    summed.agents[name].answer = lying


def test_below_four_sites_that_say_the_same_the_server_shows_nothing(summed: Any) -> None:
    changed_answers(summed, "north", lambda said: replace(said, total=said.total and (1,) * len(said.total)))
    summed.run()
    assert summed.server.results.sum is not None
    assert summed.server.status()["results"] is None


def test_a_frame_of_noise_is_left_out_and_then_there_are_too_few(summed: Any) -> None:
    changed_answers(summed, "north", lambda said: replace(said, results=said.results and b"noise"))
    summed.run()
    assert summed.server.results.sum is None
    assert all(agent.over for agent in summed.agents.values())


def test_studies_without_it_end_as_before(world: Build) -> None:
    deployed = world(rounds=1)
    deployed.start_all()
    deployed.run()
    assert deployed.server.status()["results"] is None
    assert not (deployed.folder / "server" / "results.json").exists()


def test_in_a_private_study_the_common_models_results_are_noised_and_paid_for(world: Build) -> None:
    deployed = world(rounds=1, method="fedavg", metrics="sum", privacy=PRIVATE)
    deployed.policy = deployed.policy.model_copy(update={"metrics_may_leave": "sum"})
    deployed.start_all()
    deployed.run()
    told = deployed.server.status()["results"]
    assert (told["sites"], told["noised"], set(told["results"])) == (4, True, {"accuracy", "brier"})
    exact, noise = np.zeros(3, np.int64), np.zeros(3, np.int64)
    deviation = RESULT_NOISE.deviation(multiplier_of_results(Budget(PRIVATE.epsilon, PRIVATE.delta)))
    for place, (name, agent) in enumerate(deployed.agents.items()):
        theta = common_model(deployed.terms, agent.state)
        exact += row_counts(*agent.site.training.on_test_rows(theta))
        drawn = torch.empty(3, dtype=torch.float64)
        KeyedRandomness(stream(deployed.file.seed, Purpose.RESULT_NOISE, site=place)).normal_(drawn)
        noise += np.rint(deviation * drawn.numpy()).astype(np.int64)
        ledger = agent.site.privacy.sites[0].ledger
        assert [event.release for event in ledger.events].count(TEST_RESULTS) == 1
        assert ledger.epsilon <= PRIVATE.epsilon
        total = json.loads((deployed.folder / name / "results.json").read_text())
    assert total == (exact + noise + 4 * NOISE_OFFSET).tolist()
    assert (noise != 0).all()


def test_a_site_that_paid_and_lost_its_frame_does_not_send_another(world: Build) -> None:
    deployed = world(rounds=1, method="fedavg", metrics="sum", privacy=PRIVATE)
    deployed.policy = deployed.policy.model_copy(update={"metrics_may_leave": "sum"})
    deployed.start_all()
    deployed.run(until=lambda server: server.results.has_heard("north"))
    (deployed.folder / "north" / "results").unlink()
    agent = deployed.start_agent("north")
    deployed.run()
    events = agent.site.privacy.sites[0].ledger.events
    assert [event.release for event in events].count(TEST_RESULTS) == 1
    assert not (deployed.folder / "north" / "results").exists()
