"""Joint frames and aggregates on the wire: nothing altered, foreign or unsigned is taken for one."""

from dataclasses import replace

import pytest

from sapefl_crypto import FrameRejected
from sapefl_crypto.joint.aggregator import JointAggregator
from sapefl_crypto.joint.frames import digest, nonce_of, parse_frame, read_manifest, signed_part


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


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"nonce": bytes(16)}, "its nonce is not that of its shares"),
        ({"weight": 17}, r"weight 17 for score 0\.5"),
        ({"score": float("nan")}, "weight 16 for score nan"),
        ({"score": float("inf")}, "weight 16 for score inf"),
        ({"sealing": bytes(32)}, "its sealing key is none"),
        ({"sender": "z"}, "not on the roster"),
    ],
)
def test_a_hostile_sites_own_signature_makes_no_manifest_right(cohort, changed, said: str) -> None:
    manifest = replace(parse_frame(cohort.uploads["a"].frame, cohort.about).manifest, **changed)
    with pytest.raises(FrameRejected, match=said):
        read_manifest(manifest.signed(cohort.identities["a"]), cohort.about)


def test_shares_for_fewer_members_and_a_longer_payload_are_refused_under_a_good_signature(cohort) -> None:
    parsed = parse_frame(cohort.uploads["a"].frame, cohort.about)
    shares = parsed.manifest.share_digests[:-1]
    fewer = replace(parsed.manifest, share_digests=shares, nonce=nonce_of("a", shares))
    with pytest.raises(FrameRejected, match="another number of shares than members"):
        read_manifest(fewer.signed(cohort.identities["a"]), cohort.about)
    longer = bytes(parsed.payload) + bytes(30720)
    signed = replace(parsed.manifest, payload_digest=digest(longer)).signed(cohort.identities["a"])
    with pytest.raises(FrameRejected, match="61440 bytes of payload, the model implies 30720"):
        parse_frame(signed + longer, cohort.about)


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
