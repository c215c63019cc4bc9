"""A finished run once more: who listens, what is tried, what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from secure_sapefl import Config, simulate
from secure_sapefl.audit.parties import AtServer, AtSite
from secure_sapefl.audit.replay import Replay, most_invited, replay
from secure_sapefl.engine.assembly import federation_of
from secure_sapefl.errors import BadInput
from secure_sapefl.privacy.errors import PrivacyWarning


def test_no_forgery_passes_and_no_key_is_near(runs: dict[str, Replay]) -> None:
    for name in ("ckks", "hidden"):
        assert not runs[name].key_within_reach
        assert set(runs[name].forgeries.values()) == {False}
        assert len(runs[name].forgeries) == 5
    assert runs["plaintext"].forgeries == {}, "nothing is promised there"


def test_a_run_that_was_stopped_early_stops_again(small: Callable[..., Config]) -> None:
    config = small(rounds=6, early_stopping=1, lr=1.0, protection="plaintext")
    result = simulate(config)
    assert len(result.rounds) < 6
    again = replay(config, federation_of(config)).result
    assert (len(again.rounds), again.main) == (len(result.rounds), result.main)


def test_an_audit_warns_of_a_careless_delta(small: Callable[..., Config]) -> None:
    config = small(dp_epsilon=4.0, dp_delta=0.5)
    with pytest.warns(PrivacyWarning, match=r"delta = 0\.5 is not below 1 / n"):
        replay(config, federation_of(config))


def test_a_method_that_keeps_heads_at_home_is_refused(small: Callable[..., Config]) -> None:
    config = small(method="fedas")
    with pytest.raises(BadInput, match="without their last layer"):
        replay(config, federation_of(config))


def test_the_curious_site_is_the_one_invited_most(runs: dict[str, Replay]) -> None:
    terms = runs["ckks"].terms
    counts = np.bincount([c for t in range(3) for c in terms.study.cohort(t)], minlength=4)
    assert counts[terms.study.sites.index(most_invited(terms, 3))] == counts.max()
    assert isinstance(runs["ckks"].parties[1], AtSite)
    assert isinstance(runs["ckks"].parties[2], AtServer)
