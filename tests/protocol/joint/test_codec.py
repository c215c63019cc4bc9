"""What sites open and seal outside the legs: sums for everybody, models for whom the seed draws."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.joint.policy import JointPolicy
from secure_sapefl.protocol.joint.codec import JointCodec
from secure_sapefl.protocol.study import readers_of

Make = Callable[..., Any]
VECTOR = np.arange(20, dtype=np.float32)


def test_a_model_opens_for_those_the_seed_draws_and_for_nobody_else(make_round: Make) -> None:
    """One peer a site: most sites are not given a's model before it makes another."""
    joint = make_round(peers_per_client=1)
    given = readers_of(joint.study, "a", 2)
    assert 0 < len(given) < 3
    blob = joint.sites.codec(["a"]).seal(VECTOR, study="s", round_index=2, sender="a")
    for site in "bcd":
        codec = joint.sites.codec([site])
        if site in given:
            assert np.array_equal(codec.open(blob, study="s", round_index=2, sender="a"), VECTOR)
        else:
            with pytest.raises(FrameRejected, match="not sealed for this site"):
                codec.open(blob, study="s", round_index=2, sender="a")
    with pytest.raises(FrameRejected):
        joint.sites.codec().open(blob, study="s", round_index=2, sender="b")
    with pytest.raises(FrameRejected):
        joint.sites.codec().open(blob, study="s", round_index=2, sender="mallory")


def test_a_sum_is_held_to_the_readers_own_rules(make_round: Make) -> None:
    joint = make_round()
    outcome = joint.run()
    strict = JointCodec(joint.sites.terms, {"a": joint.sites.holders["a"]}, JointPolicy(max_honest_share=0.2))
    with pytest.raises(AggregateRejected, match="maximum share"):
        strict.decrypt(outcome.aggregate, study="s", round_index=3)
    with pytest.raises(AggregateRejected, match="another round"):
        joint.sites.codec().decrypt(outcome.aggregate, study="s", round_index=2)


def test_a_wrong_answer_is_found_and_told(make_round: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Seven members, five open: of seven answers one liar's is found and named."""
    joint = make_round(sites=tuple("abcdefg"), colluders=1)
    joint.announce()
    joint.send(**dict.fromkeys("abcdefg", 0.5))
    joint.server.press_on()
    joint.ask()
    joint.server.press_on()
    joint.ask()
    joint.server.press_on()
    liar = joint.sites._legs["c"]._member  # a member that lies about one share
    liar._shares["a"] = liar._shares["b"]  # as above
    joint.ask()
    mean = joint.mean(joint.server.press_on(), "e")
    assert np.array_equal(mean, np.full(20, 0.5, np.float32))
    assert "the answer of 'c' is wrong" in caplog.text
