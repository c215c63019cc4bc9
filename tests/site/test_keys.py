"""What a site protects and opens with: shared keys know no committee; joint ones give a retry the same bytes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.joint.frames import attempt_of
from secure_sapefl.protocol.answer import Answer
from secure_sapefl.protocol.joint.consents import Call
from secure_sapefl.protocol.joint.messages import KeyWanted
from secure_sapefl.protocol.messages import Invitation, RoundUpload
from secure_sapefl.site.keys import joint_policy

World = Callable[..., Any]


def keys_of(deployed: Any, name: str = "north") -> Any:
    return deployed.start_agent(name).site.keys


def test_a_study_with_a_shared_key_has_no_duties(world: World) -> None:
    keys = keys_of(world(method="fedavg"))
    with pytest.raises(FrameRejected, match="a study that has none"):
        keys.perform(KeyWanted(round_index=0, attempt=0))
    with pytest.raises(FrameRejected, match="draws no committees"):
        keys.answer(Call())


def test_where_all_sit_no_nonce_is_asked_for(world: World) -> None:
    with pytest.raises(FrameRejected, match="all sit on every committee"):
        keys_of(world(method="fedavg", keys="joint")).answer(Call())


@pytest.fixture
def invited(world: World) -> tuple[Any, Callable[[int], Invitation], RoundUpload]:
    deployed = world(method="fedavg", keys="joint")
    sites = {name: keys_of(deployed, name) for name in deployed.file.sites}

    def invitation(attempt: int) -> Invitation:
        wanted = KeyWanted(round_index=0, attempt=attempt)
        announced = tuple(keys.perform(wanted) for keys in sites.values())
        return Invitation(site="north", round_index=0, peers=(), models=(), keys=announced, attempt=attempt)

    length = deployed.terms.blueprint.study.parameters
    answer = Answer(site="north", similarity_score=5.0, update=np.full(length, 0.5, np.float32), theta_personal=None)
    return sites["north"], invitation, sites["north"].protect(answer, invitation(0))


def test_asked_again_the_same_bytes_and_in_another_attempt_another_key(invited: Any) -> None:
    keys, invitation, upload = invited
    assert keys.again(upload, invitation(0)) is upload
    later = keys.again(upload, invitation(1))
    assert attempt_of(later.update) == 1
    assert {share.content for share in later.shares}.isdisjoint(share.content for share in upload.shares)
    assert keys.again(later, replace(invitation(1), attempt=0)) is None, "an attempt that is over"


def test_without_the_update_there_is_no_other_attempt(invited: Any) -> None:
    keys, invitation, upload = invited
    keys.close(0)
    assert keys.again(upload, invitation(1)) is None


def test_members_refuse_claims_of_fewer_than_share_their_noise(world: World) -> None:
    deployed = world(method="fedavg", keys="joint")
    study = deployed.terms.blueprint.study
    least = joint_policy(deployed.policy, replace(study, least_contributors=4)).rules
    assert (least.min_cohort, least.max_weight_ratio) == (4, 1.0)
    deployed.start_all()
    deployed.run(until=lambda server: server.round_index == 1)
    outcome = deployed.state.outcome(0)
    four = deployed.policy.model_copy(update={"min_cohort": 5})
    codec = deployed.agents["north"].site.keys.sums(four, None)
    with pytest.raises(AggregateRejected, match="4 senders, this site asks for 5"):
        codec.decrypt(outcome.aggregate, study=study.name, round_index=0)
