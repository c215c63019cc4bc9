"""Mutated frames against the aggregator: no crash, no hang, nothing accepted, memory bounded.

Two families. *Damage* changes bytes as a network or a careless attacker would; *forgery* also repairs the checksum, as
somebody who read the format would. The server refuses all damage and every forged header. A forged ciphertext that is
still a ciphertext is for the tags: the server has no key to tell, the sites do.
"""

import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sapefl_crypto import AggregateRejected, Aggregator, CohortKey, FrameRejected, Parameters
from sapefl_crypto.frames import Frame, parse_frame, with_checksum
from sapefl_crypto.occasion import Kind, Occasion

ABOUT = {"study": "fuzzed", "round_index": 5}
LENGTH = 50
HEADER = 95

Rng = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Honest frames of this and neighbouring settings, to mutate and to splice."""

    good: bytes
    other: bytes
    frame: Frame
    params: Parameters


def flip_bits(m: Material, rng: Rng) -> bytes:
    data = bytearray(m.good)
    for position in rng.integers(0, len(data), rng.integers(1, 9)):
        data[position] ^= 1 << int(rng.integers(8))
    return bytes(data) if bytes(data) != m.good else b""


def flip_header_bits(m: Material, rng: Rng) -> bytes:
    data = bytearray(m.good)
    data[rng.integers(HEADER + 1)] ^= 1 << int(rng.integers(8))
    return bytes(data)


def truncate(m: Material, rng: Rng) -> bytes:
    return m.good[: rng.integers(len(m.good))]


def extend(m: Material, rng: Rng) -> bytes:
    return m.good + rng.bytes(int(rng.integers(1, 200)))


def splice(m: Material, rng: Rng) -> bytes:
    """One frame's nonce with the rest of another; cut earlier, it would simply be the other frame."""
    cut = int(rng.integers(86, len(m.good) - 3))
    return m.good[:cut] + m.other[cut:]


def noise(m: Material, rng: Rng) -> bytes:
    return rng.bytes(int(rng.integers(0, 400)))


def lie_about_lengths(m: Material, rng: Rng) -> bytes:
    """Name length (byte 86), payload length (87 to 95) or vector length (62 to 70), with a good checksum."""
    body = bytearray(m.good[:-4])
    start, size = ((86, 1), (87, 8), (62, 8))[rng.integers(3)]
    lie = rng.bytes(size) if rng.integers(2) else bytes(size - 1) + bytes([int(rng.integers(256))])
    changed = body[:start] + lie + body[start + size :]
    return with_checksum(bytes(changed)) if changed != body else b""


def forged(change: Callable[[Frame, Rng], Frame]) -> Callable[[Material, Rng], bytes]:
    def mutate(m: Material, rng: Rng) -> bytes:
        return change(m.frame, rng).to_bytes()

    mutate.__name__ = change.__name__
    return mutate


def other_study(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, occasion=replace(frame.occasion, study_digest=rng.bytes(32)))


def other_round(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, occasion=replace(frame.occasion, round_index=int(rng.integers(6, 2**62))))


def other_parameters(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, occasion=replace(frame.occasion, params_digest=rng.bytes(16)))


def other_kind(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, occasion=replace(frame.occasion, kind=Kind.HIDDEN))


def other_sender(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, sender=f"site-{rng.integers(10**6)}")


def other_length(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, occasion=replace(frame.occasion, length=int(rng.integers(51, 10**9))))


def oversized(frame: Frame, rng: Rng) -> Frame:
    return replace(frame, payload=frame.payload * int(rng.integers(2, 4)))


def above_the_prime(frame: Frame, rng: Rng) -> Frame:
    payload = bytearray(frame.payload)
    half, place = (len(payload) - 64) // 15, int(rng.integers(2048))
    for start, size in ((0, 8), (8 * half, 4), (12 * half, 2), (14 * half, 1)):
        payload[start + place * size : start + (place + 1) * size] = b"\xff" * size
    return replace(frame, payload=bytes(payload))


def replay(m: Material, rng: Rng) -> bytes:
    return m.good  # the aggregator has counted this sender already


MUTATIONS: list[Callable[[Material, Rng], bytes]] = [
    flip_bits, flip_header_bits, truncate, extend, splice, noise, lie_about_lengths, replay,
    *(forged(change) for change in (
        other_study, other_round, other_parameters, other_kind, other_sender, other_length, oversized, above_the_prime,
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def material(key: CohortKey, params: Parameters) -> Material:
    good, other = (key.encrypt(np.ones(LENGTH, np.float32), **ABOUT, sender="a") for _ in range(2))
    occasion = Occasion.bound_to(params, Kind.WEIGHTED, **ABOUT, length=LENGTH)
    return Material(good=good, other=other, frame=parse_frame(good, params, occasion), params=params)


def fuzz(material: Material, trials: int, seed: int) -> Counter[str]:
    """How many of each mutation were refused; anything else than `FrameRejected` ends the test."""
    rng, refused = np.random.default_rng(seed), Counter[str]()
    fresh = Aggregator(material.params, **ABOUT, length=LENGTH, max_score=1.0)
    counted = Aggregator(material.params, **ABOUT, length=LENGTH, max_score=1.0)
    counted.add(material.good, 1.0, sender="a")
    before = counted.finish()
    for trial in range(trials):
        mutate = MUTATIONS[trial % len(MUTATIONS)]
        target = counted if mutate is replay else fresh
        with pytest.raises(FrameRejected):
            target.add(mutate(material, rng), 1.0, sender="a")
        refused[mutate.__name__] += 1
    assert fresh.finish().unchanged
    assert counted.finish() == before
    return refused


def test_no_mutated_frame_is_accepted(material: Material) -> None:
    refused = fuzz(material, 8_000, seed=1)
    assert min(refused[mutate.__name__] for mutate in MUTATIONS) == 500


@pytest.mark.slow
def test_no_mutated_frame_is_accepted_in_two_hundred_thousand(material: Material) -> None:
    """Memory: after a first thousand has filled every pool, two hundred thousand more may not need 20 MB on top."""
    fuzz(material, 1_000, seed=2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert fuzz(material, 200_000, seed=3).total() == 200_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def forged_ciphertexts_accepted(key: CohortKey, material: Material, trials: int) -> int:
    """Payload bits flipped, checksum repaired: the server may take it, no site may accept the sum."""
    rng, accepted = np.random.default_rng(4), 0
    for _ in range(trials):
        payload = bytearray(material.frame.payload)
        payload[rng.integers(len(payload))] ^= 1 << int(rng.integers(8))
        aggregator = Aggregator(material.params, **ABOUT, length=LENGTH, max_score=1.0)
        try:
            aggregator.add(replace(material.frame, payload=bytes(payload)).to_bytes(), 1.0, sender="a")
            key.decrypt(aggregator.finish(), **ABOUT)
        except (FrameRejected, AggregateRejected):
            continue
        accepted += 1
    return accepted


def test_a_forged_ciphertext_is_stopped_by_the_tags(key: CohortKey, material: Material) -> None:
    assert forged_ciphertexts_accepted(key, material, 300) == 0
