"""A site's half of a round of counts: what it sends, and what it opens."""

from collections.abc import Callable

import pytest

from sapefl_crypto.errors import AggregateRejected
from secure_sapefl.protocol.messages import Invitation
from secure_sapefl.site.counting.site import CountingSite, opened
from tests.counting_study import CountingWorld

Made = Callable[..., CountingWorld]


def test_a_sum_over_fewer_than_the_owner_allows_is_not_opened(made: Made) -> None:
    study = made(preparation="common")
    outcomes = []
    agent = study.agents["north"]
    assert isinstance(agent.site, CountingSite)
    site, plain = agent.site, agent.site.absorb
    site.absorb = lambda *given: (outcomes.append(given), plain(*given))[1]  # type: ignore[method-assign]
    study.run(until=lambda: agent.over)
    (state, outcome, sent) = outcomes[0]
    site.policy = site.policy.model_copy(update={"min_cohort": 5})
    with pytest.raises(AggregateRejected, match="minimum cohort"):
        plain(state, outcome, sent)
    found = opened(agent.state)
    assert found is not None
    assert found[0] == 4


def test_what_leaves_is_one_frame_and_no_model(made: Made) -> None:
    study = made(preparation="common")
    agent = study.agents["north"]
    invitation = Invitation(site="north", round_index=0, peers=(), models=())
    upload, own, refusals = agent.site.take_part(agent.state, invitation)
    assert upload is not None
    assert (upload.similarity_score, upload.theta_personal, own, refusals) == (1.0, None, {}, ())
    assert opened(agent.state) is None
