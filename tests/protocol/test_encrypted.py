"""A site's codec holds every aggregate to the site's own conditions, whatever the server says about it."""

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, Aggregator, ClaimPolicy, CohortKey, OwnPart, Parameters
from secure_sapefl.protocol.encrypted import CkksCodec

PARAMS = Parameters.exact(max_clients=3)
HERE = {"study": "heart", "round_index": 2}
VECTOR = np.linspace(-1, 1, 20, dtype=np.float32)


@pytest.fixture(scope="module")
def key() -> CohortKey:
    return CohortKey.generate(PARAMS)


def frames(key: CohortKey, senders: str) -> dict[str, bytes]:
    return {name: CkksCodec(key).encrypt(VECTOR, sender=name, **HERE) for name in senders}  # type: ignore[arg-type]


def total(sent: dict[str, bytes], scores: dict[str, float]) -> bytes:
    adder = Aggregator(PARAMS, study="heart", round_index=2, length=len(VECTOR), max_score=1.0)
    for name, frame in sent.items():
        adder.add(frame, scores[name])
    return adder.finish().to_bytes()


def mean(codec: CkksCodec, aggregate: bytes) -> list[float] | None:
    found = codec.decrypt(aggregate, study="heart", round_index=2)
    return None if found is None else found.tolist()


def test_without_a_policy_any_sum_will_do(key: CohortKey) -> None:
    aggregate = total(frames(key, "a"), {"a": 1.0})
    assert mean(CkksCodec(key), aggregate) == pytest.approx(VECTOR.tolist(), abs=1e-5)


def test_the_policy_of_a_site_refuses_small_and_skewed_cohorts(key: CohortKey) -> None:
    sent = frames(key, "abc")
    fair, skewed = total(sent, dict.fromkeys("abc", 0.5)), total(sent, {"a": 1.0, "b": 0.01, "c": 0.01})
    codec = CkksCodec(key, ClaimPolicy(min_cohort=3, min_effective_cohort=2.0, max_share=0.6))
    assert mean(codec, fair) == pytest.approx(VECTOR.tolist(), abs=1e-5)
    with pytest.raises(AggregateRejected, match="maximum share"):
        mean(codec, skewed)
    with pytest.raises(AggregateRejected, match="minimum cohort: 1 senders, this site asks for 3"):
        mean(codec, total({"a": sent["a"]}, {"a": 1.0}))
    with pytest.raises(AggregateRejected, match="effective cohort"):
        mean(CkksCodec(key, ClaimPolicy(min_effective_cohort=2.0)), skewed)


def test_a_site_finds_its_own_frame_with_its_own_weight_again(key: CohortKey) -> None:
    sent = frames(key, "abc")
    own = OwnPart(frame=sent["a"], score=0.5, max_score=1.0)
    codec = CkksCodec(key, ClaimPolicy(own=own))
    assert mean(codec, total(sent, dict.fromkeys("abc", 0.5))) is not None
    with pytest.raises(AggregateRejected, match="own weight"):
        mean(codec, total(sent, {"a": 0.4, "b": 0.5, "c": 0.5}))
    with pytest.raises(AggregateRejected, match="own weight"):
        mean(codec, total({name: sent[name] for name in "bc"}, {"b": 0.5, "c": 0.5}))


def test_nothing_counted_is_believed_only_by_who_sent_nothing(key: CohortKey) -> None:
    sent = frames(key, "a")
    nothing = total(sent, {"a": 0.0})
    assert mean(CkksCodec(key, ClaimPolicy(min_cohort=3)), nothing) is None
    with pytest.raises(AggregateRejected, match="was left out"):
        mean(CkksCodec(key, ClaimPolicy(own=OwnPart(frame=sent["a"], score=0.5, max_score=1.0))), nothing)


def test_an_unchanged_round_belongs_to_its_round(key: CohortKey) -> None:
    nothing = total(frames(key, "a"), {"a": 0.0})
    with pytest.raises(AggregateRejected, match="made for round 2, not 3"):
        CkksCodec(key).decrypt(nothing, study="heart", round_index=3)
