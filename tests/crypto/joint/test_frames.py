"""Joint frames and aggregates on the wire: nothing altered, foreign or unsigned is taken for one."""

from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, FrameRejected, KeyRejected, ValueRejected
from sapefl_crypto.joint.aggregate import JointAggregate, JointClaim
from sapefl_crypto.joint.aggregator import JointAggregator
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.frames import parse_frame, read_manifest, signed_part
from sapefl_crypto.joint.round_key import RoundKey


@pytest.fixture
def cohort(make_cohort, vectors):
    cohort = make_cohort(4)
    cohort.send(vectors, [0.5, 1.0, 0.7, 0.9])
    return cohort


def test_a_frame_says_who_sent_what_with_which_weight(cohort) -> None:
    frame = cohort.uploads["a"].frame
    parsed = parse_frame(frame, cohort.about)
    assert (parsed.manifest.sender, parsed.manifest.score, parsed.manifest.weight) == ("a", 0.5, 16)
    assert len(frame) == 263 + 1 + 32 * 4 + 30720
    assert read_manifest(signed_part(frame), cohort.about) == parsed.manifest


def test_no_changed_byte_of_a_frame_passes(cohort) -> None:
    frame = cohort.uploads["a"].frame
    header = len(signed_part(frame))
    for at in [*range(header), header, header + 20_000, len(frame) - 1]:
        changed = frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]
        with pytest.raises(FrameRejected):
            parse_frame(changed, cohort.about)


@pytest.mark.parametrize("kept", [0, 4, 198, 199, 300, 400, 20_000])
def test_cut_frames_are_refused(cohort, kept: int) -> None:
    with pytest.raises(FrameRejected):
        parse_frame(cohort.uploads["a"].frame[:kept], cohort.about)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"study": "t"}, "another study"),
        ({"round_index": 4}, "another round"),
        ({"attempt": 1}, "another attempt"),
        ({"purpose": "statistics"}, "another purpose"),
        ({"length": 99}, "another length"),
    ],
)
def test_a_frame_of_another_occasion_is_refused(cohort, changed, said: str) -> None:
    with pytest.raises(FrameRejected, match=said):
        parse_frame(cohort.uploads["a"].frame, replace(cohort.about, **changed))


def test_a_frame_with_another_weight_than_its_scores_is_refused(cohort) -> None:
    with pytest.raises(FrameRejected, match=r"weight 16 for score 0\.5"):
        parse_frame(cohort.uploads["a"].frame, replace(cohort.about, max_score=2.0))


def test_a_stranger_and_a_wrong_connection_are_refused(cohort) -> None:
    frame, aggregator = cohort.uploads["a"].frame, JointAggregator(cohort.about)
    with pytest.raises(FrameRejected, match="connection of 'b'"):
        aggregator.add(frame, sender="b")
    without = replace(cohort.about, roster={n: k for n, k in cohort.about.roster.items() if n != "a"},
                      committee=replace(cohort.about.committee, members=("b", "c", "d")))  # fmt: skip
    with pytest.raises(FrameRejected, match="another committee"):
        parse_frame(frame, without)


def test_a_sender_counts_once(cohort) -> None:
    aggregator = JointAggregator(cohort.about)
    aggregator.add(cohort.uploads["a"].frame)
    with pytest.raises(FrameRejected, match="counts once"):
        aggregator.add(cohort.uploads["a"].frame)


def test_a_key_encrypts_once_and_an_erased_one_never(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    key = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    cohort.sign("a", key, vectors[0], 0.5)
    with pytest.raises(KeyRejected, match="its one vector"):
        cohort.sign("a", key, vectors[1], 0.5)
    other = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    masks = other._masks  # a thief's view: a key gives its masks to nobody
    other.erase()
    assert not masks.any()
    with pytest.raises(KeyRejected, match="erased"):
        cohort.sign("a", other, vectors[0], 0.5)


def test_what_does_not_fit_is_refused_before_the_key_is_spent(make_cohort, vectors) -> None:
    cohort = make_cohort(4)
    key = RoundKey(cohort.about, sender="a", members=cohort.member_keys)
    for vector, score in (
        (vectors[0][:50], 0.5),
        (vectors[0] * 1e4, 0.5),
        (vectors[0] * np.nan, 0.5),
        (vectors[0], 1.5),
    ):
        with pytest.raises(ValueRejected):
            cohort.sign("a", key, vector, score)
    with pytest.raises(ValueRejected, match="'a''s"):
        cohort.sign("b", key, vectors[0], 0.5)
    cohort.sign("a", key, vectors[0], 0.5)


def test_shares_go_to_the_whole_committee_and_nobody_else(make_cohort) -> None:
    cohort = make_cohort(4, members=3)
    for members in (cohort.member_keys | {"d": bytes(32)}, {"a": cohort.member_keys["a"]}):
        with pytest.raises(ValueRejected, match="each of a, b, c"):
            RoundKey(cohort.about, sender="a", members=members)


def test_aggregates_claims_and_certificates_travel(cohort) -> None:
    aggregate = cohort.aggregate()
    assert JointAggregate.from_bytes(aggregate.to_bytes()) == aggregate
    assert JointClaim.from_bytes(aggregate.claimed.to_bytes()) == aggregate.claimed
    certificate = cohort.certify(aggregate)
    assert Certificate.from_bytes(certificate.to_bytes()) == certificate


def test_damaged_messages_of_the_server_are_refused(cohort) -> None:
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    for parse, data in (
        (JointAggregate.from_bytes, aggregate.to_bytes()),
        (JointClaim.from_bytes, aggregate.claimed.to_bytes()),
        (Certificate.from_bytes, certificate.to_bytes()),
    ):
        for kept in (*range(0, min(len(data), 400), 7), len(data) - 1):
            with pytest.raises(AggregateRejected):
                parse(data[:kept])
        with pytest.raises(AggregateRejected):
            parse(data + b"x")
    damaged = bytearray(aggregate.to_bytes())
    damaged[5000] ^= 1
    with pytest.raises(AggregateRejected, match="damaged"):
        JointAggregate.from_bytes(bytes(damaged))
