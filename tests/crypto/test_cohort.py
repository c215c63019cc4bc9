"""The key does its work with its copies and with nobody else, and never says what it is."""

import copy
import io
import json
import logging
import pickle
import traceback
from dataclasses import replace

import numpy as np
import pytest

from sapefl_crypto import (
    Aggregate,
    AggregateRejected,
    Aggregator,
    ClaimPolicy,
    CohortKey,
    CryptoError,
    FrameRejected,
    HiddenAggregator,
    KeyRejected,
    OwnPart,
    Parameters,
)
from sapefl_crypto.frames import with_checksum
from sapefl_crypto.tags import TagMaker

ABOUT = {"study": "s", "round_index": 3}
VECTOR = np.linspace(-1, 1, 20, dtype=np.float32)


def sum_of(key: CohortKey, **scores: float) -> tuple[dict[str, bytes], Aggregator]:
    frames = {sender: key.encrypt(VECTOR, **ABOUT, sender=sender) for sender in scores}
    agg = Aggregator(key.params, **ABOUT, length=20, max_score=1.0)
    for sender, score in scores.items():
        agg.add(frames[sender], score)
    return frames, agg


def test_a_stored_key_is_the_same_key(key: CohortKey) -> None:
    twin = CohortKey.from_secret(key.export_secret())
    _, agg = sum_of(key, a=0.5, b=1.0)
    assert twin.decrypt(agg.finish(), **ABOUT) == pytest.approx(VECTOR, abs=1e-7)
    assert twin.fingerprint == key.fingerprint
    assert twin.params == key.params


def test_another_key_of_the_same_plan_is_refused(key: CohortKey, params: Parameters) -> None:
    _, agg = sum_of(key, a=0.5)
    with pytest.raises(AggregateRejected, match="tags"):
        CohortKey.generate(params).decrypt(agg.finish(), **ABOUT)


@pytest.mark.parametrize("wrong", [{"study": "t", "round_index": 3}, {"study": "s", "round_index": 4}])
def test_an_aggregate_belongs_to_one_round_of_one_study(key: CohortKey, wrong: dict[str, object]) -> None:
    _, agg = sum_of(key, a=0.5)
    with pytest.raises(AggregateRejected, match="format"):
        key.decrypt(agg.finish(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [0, 19, 21, 2**40 + 1, 2**64 - 1])
def test_a_hostile_length_is_one_typed_error(key: CohortKey, length: int) -> None:
    _, agg = sum_of(key, a=0.5)
    honest = agg.finish()
    lying = replace(honest, occasion=replace(honest.occasion, length=length))
    with pytest.raises(AggregateRejected):
        key.decrypt(Aggregate.from_bytes(lying.to_bytes()), **ABOUT)


@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_residual_that_is_no_number_is_not_small(key: CohortKey, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """NaN is not above any tolerance; it must be below it."""
    _, agg = sum_of(key, a=0.5)
    residuals = np.zeros((1, 8))
    residuals[0, place] = np.nan
    monkeypatch.setattr(TagMaker, "residuals", lambda *_: residuals)
    with pytest.raises(AggregateRejected, match="tags"):
        key.decrypt(agg.finish(), **ABOUT)


def test_the_policy_is_asked(key: CohortKey) -> None:
    frames, agg = sum_of(key, a=0.5, b=0.25)
    own = OwnPart(frame=frames["a"], score=0.5, max_score=1.0)
    fine = ClaimPolicy(min_cohort=2, min_effective_cohort=1.5, max_share=0.7, own=own)
    assert key.decrypt(agg.finish(), **ABOUT, policy=fine) is not None
    for policy in (ClaimPolicy(min_cohort=3), ClaimPolicy(own=OwnPart(frame=frames["a"], score=0.25, max_score=1.0))):
        with pytest.raises(AggregateRejected):
            key.decrypt(agg.finish(), **ABOUT, policy=policy)


def test_hidden_scores_still_show_the_effective_cohort(key: CohortKey) -> None:
    """Scores 1 and 0.1: (1.1)² / 1.01 = 1.198 sites' worth of mixing."""
    agg = HiddenAggregator(key.params, **ABOUT, length=20)
    for sender, score in (("a", 1.0), ("b", 0.1)):
        agg.add(key.encrypt_weighted(VECTOR, score=score, max_score=1.0, **ABOUT, sender=sender))
    assert key.decrypt(agg.finish(), **ABOUT, policy=ClaimPolicy(min_effective_cohort=1.19)) is not None
    with pytest.raises(AggregateRejected, match=r"effective cohort.*1\.198"):
        key.decrypt(agg.finish(), **ABOUT, policy=ClaimPolicy(min_effective_cohort=1.25))


def test_sealed_vectors_open_for_the_same_study_round_and_sender_only(key: CohortKey) -> None:
    blob = key.seal(VECTOR, **ABOUT, sender="a")
    assert np.array_equal(key.open(blob, **ABOUT, sender="a"), VECTOR)
    for wrong in ({"study": "t"}, {"round_index": 4}, {"sender": "b"}):
        with pytest.raises(FrameRejected):
            key.open(blob, **{**ABOUT, "sender": "a", **wrong})  # type: ignore[arg-type]
    with pytest.raises(FrameRejected):
        CohortKey.generate(key.params).open(blob, **ABOUT, sender="a")


def test_damaged_or_foreign_key_bytes_are_refused_without_quoting_them(key: CohortKey) -> None:
    secret = key.export_secret()
    flipped = secret[:100] + bytes([secret[100] ^ 1]) + secret[101:]
    short = with_checksum(secret[:-36])
    above = with_checksum(secret[:62] + b"\xff" * (len(secret) - 66))
    weak = with_checksum(secret[:26] + (2048).to_bytes(4, "big") + secret[30:-4])
    for wrong in (b"", b"SPCK\x01", secret[:-1], secret + b"x", flipped, short, above, weak):
        with pytest.raises(KeyRejected) as caught:
            CohortKey.from_secret(wrong)
        assert secret[40:48].hex() not in str(caught.value)


def leaks(text: str | bytes, key: CohortKey) -> bool:
    """Whether any 11 bytes of the root or the start of the secret polynomial show, raw, as hex or as a repr: every
    fourth window of 8 is looked for, and no run of 11 is without one."""
    secret = key.export_secret()
    raw = text.encode("latin-1", "replace") if isinstance(text, str) else text
    windows = [secret[start : start + 8] for start in range(30, 30 + 32 + 64, 4)]
    return any(shape in raw for part in windows for shape in (part, part.hex().encode(), repr(part)[2:-1].encode()))


def test_the_leak_detector_detects(key: CohortKey) -> None:
    assert leaks(key.export_secret(), key)
    assert leaks(repr(key.export_secret()), key)
    assert leaks(key.export_secret().hex(), key)
    assert leaks(repr(key._root.reveal()), key)  # the search finds a secret that is there


class Holder:
    """An ordinary object that holds a key, as an application would."""

    def __init__(self, key: CohortKey) -> None:
        self.key = key


def test_a_key_never_says_itself(key: CohortKey) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("t").addHandler(handler)
    logging.getLogger("t").warning("%s %r %s", key, key, [key])
    spoken = [
        repr(key),
        str(key),
        f"{key}",
        log.getvalue(),
        repr(dir(key)),
        repr(key._root),  # secrets say nothing
        repr(key._ring),  # as above
        repr(vars(Holder(key))),
    ]
    assert not any(leaks(text, key) for text in spoken)
    assert not hasattr(key, "__dict__")


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars])
def test_a_key_is_not_copied_by_accident(key: CohortKey, attempt: object) -> None:
    with pytest.raises(TypeError) as caught:
        attempt(key)  # type: ignore[operator]
    assert not leaks(str(caught.value), key)


def test_exceptions_with_their_locals_hold_no_key(key: CohortKey) -> None:
    """As a crash reporter would print it: every frame's locals, for each way to fail with a key in hand."""
    _, agg = sum_of(key, a=0.5)
    aggregate = agg.finish()
    for failing in (
        lambda: key.encrypt(np.array([np.nan], np.float32), **ABOUT, sender="a"),
        lambda: key.encrypt(VECTOR, **ABOUT, sender=""),
        lambda: key.decrypt(aggregate, study="t", round_index=3),
        lambda: CohortKey.generate(key.params).decrypt(aggregate, **ABOUT),
        lambda: key.open(b"x" * 100, **ABOUT, sender="a"),
        lambda: key.seal(np.array([np.nan], np.float32), **ABOUT, sender="a"),
        lambda: CohortKey.from_secret(key.export_secret()[:-50]),
        lambda: CohortKey.from_secret(with_checksum(key.export_secret()[:-50])),
    ):
        with pytest.raises(CryptoError) as caught:
            failing()
        report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        text = "".join(report.format())
        assert not leaks(text, key)
        assert repr(key._envelope_key("s").reveal()) not in text  # the secret that must not be told
