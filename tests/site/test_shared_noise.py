"""Shared noise between deployed sites: what is refused, what is recorded, and what a crash costs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sapefl_crypto import Aggregate
from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.errors import StudyRejected
from secure_sapefl.privacy.ledger_file import read_events
from secure_sapefl.privacy.randomness import SystemRandomness
from secure_sapefl.study.settings import PrivacyTerms
from tests.site.test_one_release import answer, die, invited

World = Callable[..., Any]
TRIAL = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="repeatable")
REAL = PrivacyTerms(epsilon=8.0, delta=1e-4, noise="secure")


@pytest.fixture
def sharing(world: World) -> World:
    def make(**fields: Any) -> Any:
        defaults = {"method": "fedavg", "dp_noise": "shared", "privacy": TRIAL, "dp_colluders": 0, "min_cohort": 4}
        deployed = world(**(defaults | fields))
        deployed.policy = deployed.policy.model_copy(update={"max_epsilon_shared": 8.0, "min_honest_sites": 1})
        deployed.start_all()
        return deployed

    return make


def test_a_study_ends_where_its_plan_says_and_the_ledger_names_both_numbers(sharing: World) -> None:
    deployed = sharing(min_cohort=4)
    deployed.run()
    plan = deployed.terms.shared.plan
    for name, agent in deployed.agents.items():
        assert agent.epsilon == pytest.approx(plan.epsilon_max)
        (*_, last) = deployed.ledgers[name].events("sent")
        assert last.epsilon == agent.epsilon
        assert last.note == agent.in_sums == f"epsilon_shared {plan.epsilon_shared:.4g}, m = 4, t = 0"


def test_a_round_waits_for_as_many_as_its_noise_was_planned_for(sharing: World) -> None:
    """One of four stays away past several deadlines, four are needed: nobody pays again, and nothing is lost."""
    deployed = sharing(dp_contributors=4, min_cohort=4)
    deployed.run("west", until=lambda _: deployed.clock.now > 1300)
    plan, waiting = deployed.terms.shared.plan, deployed.agents["north"]
    assert waiting.state.absorbed == -1
    assert 0 < waiting.epsilon < plan.epsilon_max
    deployed.run()
    assert waiting.state.theta_global[-1] == 3
    assert waiting.epsilon == pytest.approx(plan.epsilon_max)


def test_a_study_whose_rounds_could_be_paid_for_and_not_opened_is_refused(sharing: World) -> None:
    with pytest.raises(StudyRejected, match="min_cohort = 3, and shared noise is planned for 4"):
        sharing(dp_contributors=4, min_cohort=3)


def test_with_enough_contributors_a_site_may_stay_away_and_the_plan_holds(sharing: World) -> None:
    deployed = sharing(dp_contributors=3, min_cohort=3)
    deployed.run("west")
    assert deployed.agents["north"].state.theta_global[-1] == 3
    assert deployed.agents["north"].epsilon <= deployed.terms.shared.plan.epsilon_max * (1 + 1e-6)


def absorbed(deployed: Any, outcome: Any) -> Any:
    agent = deployed.agents["north"]
    return agent.site.absorb(agent.state, outcome, None)


def outcome_of(deployed: Any, senders: tuple[str, ...], weights: tuple[float, ...]) -> Any:
    """A sum as a hostile coordinator may make it, of some frames with weights of its choosing; its tags are right."""
    from sapefl_crypto import Aggregator
    from secure_sapefl.protocol.messages import RoundOutcome

    study = deployed.terms.blueprint.study
    total = Aggregator(
        deployed.terms.params, study=study.name, round_index=0, length=study.parameters, max_score=study.max_score
    )
    for number, (name, weight) in enumerate(zip(senders, weights, strict=True)):
        total.add(upload_of(deployed, name, number), weight)
    made = total.finish()
    return RoundOutcome(round_index=0, aggregate=made.to_bytes(), weights=tuple(made.weights.items()), refusals=())


def upload_of(deployed: Any, name: str, number: int) -> bytes:
    from secure_sapefl.transport.wire import read_to_server

    node = deployed.file.index(name)
    for _ in range(5):
        parts = deployed.agents[name].answer(deployed.server.next_message(node))
        said = read_to_server(parts, deployed.file.keys_by_name, deployed.file.wire_name)
        if said.upload is not None:
            assert said.upload.update is not None
            return bytes(said.upload.update)
        deployed.server.receive(node, parts)
    raise AssertionError(f"{name} sends nothing, {number}")


@pytest.mark.parametrize(
    ("senders", "weights", "check"),
    [
        (("north", "east", "south"), (1.0, 1.0, 1.0), "minimum cohort"),
        (("north", "east", "south", "west"), (1.0, 1.0, 1.0, 0.5), "weight ratio"),
        (("north", "east", "south", "west"), (1.0, 1.0, 1.0, 1.0), None),
    ],
)
def test_a_site_opens_no_sum_that_its_noise_was_not_planned_for(
    sharing: World, senders: tuple[str, ...], weights: tuple[float, ...], check: str | None
) -> None:
    """Three contributors instead of four; four of whom one, and its noise, counts half; and what was planned."""
    deployed = sharing(dp_contributors=4, min_cohort=4)
    outcome = outcome_of(deployed, senders, weights)
    opened: list[Any] = []
    key = deployed.agents["north"].site.keys.key
    decrypt = type(key).decrypt_chunks

    def watched(self: Any, aggregate: Aggregate) -> Any:
        opened.append(aggregate)
        return decrypt(self, aggregate)

    type(key).decrypt_chunks = watched
    try:
        if check is None:
            absorbed(deployed, outcome)
        else:
            with pytest.raises(AggregateRejected) as refused:
                absorbed(deployed, outcome)
            assert refused.value.check == check
    finally:
        type(key).decrypt_chunks = decrypt
    assert bool(opened) == (check is None)


def test_killed_after_paying_a_site_pays_no_second_time(sharing: World, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = sharing()
    message, agent = invited(deployed), deployed.agents["north"]
    with monkeypatch.context() as patch:
        patch.setattr(agent.site, "take_part", die)
        with pytest.raises(KeyboardInterrupt):
            answer(deployed, message)
    spent = agent.epsilon
    again = deployed.start_agent("north")
    assert answer(deployed, message).upload is not None
    assert again.epsilon == spent > 0
    events = read_events(deployed.folder / "north.privacy.jsonl")
    assert [(event.round_index, event.steps, event.contributors) for event in events] == [(0, 1, 4)]


def test_what_left_once_leaves_again_as_the_same_bytes(sharing: World) -> None:
    deployed = sharing()
    message = invited(deployed)
    first = answer(deployed, message).upload
    deployed.start_agent("north")
    assert answer(deployed, message).upload == first


def test_a_site_without_budget_sits_out_and_the_others_go_on(sharing: World) -> None:
    deployed = sharing(dp_contributors=3, min_cohort=3)
    deployed.start_agent("west", max_epsilon_lifetime=0.01)
    deployed.run()
    assert deployed.agents["west"].epsilon == 0
    assert deployed.agents["north"].state.theta_global[-1] == 3
    assert any("lifetime" in event.note for event in deployed.ledgers["west"].events("refused"))


def test_a_deployed_site_draws_from_the_operating_system(sharing: World, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = sharing(privacy=REAL)
    drawn: list[int] = []
    normal = SystemRandomness.normal_

    def counted(self: SystemRandomness, out: Any) -> None:
        drawn.append(out.numel())
        normal(self, out)

    monkeypatch.setattr(SystemRandomness, "normal_", counted)
    assert answer(deployed, invited(deployed)).upload is not None
    assert drawn == [deployed.terms.blueprint.model.parameters]
    assert deployed.terms.privacy().generator == "operating system (os.urandom)"


def test_an_upload_weighs_one_and_carries_no_model(sharing: World) -> None:
    deployed = sharing(method="sapefl")
    upload = answer(deployed, invited(deployed)).upload
    assert upload is not None
    assert (upload.similarity_score, upload.theta_personal) == (1.0, None)
    assert replace(upload, update=None).size == 8
