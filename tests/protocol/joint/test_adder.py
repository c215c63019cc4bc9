"""Frames wait, can be taken out again, and add up to what the aggregator adds up."""

from collections.abc import Callable
from typing import Any

import pytest

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.aggregator import JointAggregator
from secure_sapefl.protocol.joint.adder import JointAdder

Make = Callable[..., Any]


@pytest.fixture
def frames(make_round: Make) -> tuple[Any, dict[str, bytes]]:
    joint = make_round()
    joint.announce()
    scores = {"a": 2.0, "b": 1.0, "c": 0.0, "d": 0.5}
    return joint.server.legs.about, {site: joint.upload(site, 0.5, score).update for site, score in scores.items()}


def test_who_is_taken_out_is_not_in_the_sum(frames: tuple[Any, dict[str, bytes]]) -> None:
    about, sent = frames
    kept: dict[str, bytes] = {}
    adder, expected = JointAdder(about, kept), JointAggregator(about)
    for site, score in (("d", 0.5), ("c", 0.0), ("a", 2.0), ("b", 1.0)):
        adder.add(sent[site], score, sender=site)
    assert kept.keys() == set("abcd")
    assert adder.weights == {"d": 8, "a": 32, "b": 16}, "c has no weight"
    adder.take_out("a")
    for site in "bd":
        expected.add(sent[site])
    assert adder.finish() == expected.finish()


def test_what_does_not_fit_is_refused(frames: tuple[Any, dict[str, bytes]]) -> None:
    about, sent = frames
    adder = JointAdder(about, {})
    with pytest.raises(FrameRejected, match="connection of 'b'"):
        adder.add(sent["a"], 2.0, sender="b")
    with pytest.raises(FrameRejected, match=r"a score of 1\.0 beside a frame of score 2\.0"):
        adder.add(sent["a"], 1.0, sender="a")
    adder.add(sent["a"], 2.0)
    with pytest.raises(FrameRejected, match="already counted"):
        adder.add(sent["a"], 2.0)
    assert adder.weights == {"a": 32}
