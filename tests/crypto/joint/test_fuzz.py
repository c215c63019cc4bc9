"""Altered messages of every kind: refused with the package's own errors, or as good as they were."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapefl_crypto import CryptoError
from sapefl_crypto.joint.aggregate import JointAggregate, JointClaim
from sapefl_crypto.joint.answers import read_answer
from sapefl_crypto.joint.certificate import Certificate
from sapefl_crypto.joint.frames import parse_frame, read_manifest, signed_part
from sapefl_crypto.joint.sealing import open_from_many, seal_for_many


@pytest.fixture(scope="module")
def messages(make_cohort) -> dict[str, tuple[bytes, Callable[[bytes], Any]]]:
    cohort = make_cohort(4)
    cohort.send(np.zeros((4, 100), np.float32), [0.7, 0.8, 0.9, 1.0])
    aggregate = cohort.aggregate()
    certificate = cohort.certify(aggregate)
    answer = cohort.answers(aggregate, certificate)[0]
    key = cohort.sealing["a"]
    note = seal_for_many({"a": key.public}, b"data", context=b"")
    frame = cohort.uploads["a"].frame
    reading = {"sealing": key, "reader": "a"}
    return {
        "frame": (frame, lambda data: parse_frame(data, cohort.about)),
        "manifest": (signed_part(frame), lambda data: read_manifest(data, cohort.about)),
        "answer": (answer, lambda data: read_answer(data, cohort.about, aggregate.claimed, **reading)),
        "note": (note, lambda data: open_from_many(key, "a", data, context=b"")),
        "aggregate": (aggregate.to_bytes(), lambda data: JointAggregate.from_bytes(data).check(cohort.about)),
        "claim": (aggregate.claimed.to_bytes(), lambda data: JointClaim.from_bytes(data).check(cohort.about)),
        "certificate": (
            certificate.to_bytes(), lambda data: Certificate.from_bytes(data).check(cohort.about, aggregate.claimed),
        ),
    }  # fmt: skip


KINDS = ["frame", "manifest", "answer", "note", "aggregate", "claim", "certificate"]
UNSIGNED = {"claim", "certificate"}
"""A claim is only as good as its certificate, and a certificate survives the loss of a signature it did not need."""


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    at, head = int(rng.integers(len(data))), int(rng.integers(min(len(data), 400)))
    match int(rng.integers(6)):
        case 0:
            return data[:at]
        case 1:
            return data + rng.bytes(int(rng.integers(1, 50)))
        case 2:
            return data[:head] + bytes([data[head] ^ int(rng.integers(1, 256))]) + data[head + 1 :]
        case 3:
            return data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :]
        case 4:
            return data[:head] + rng.bytes(8) + data[head + 8 :]
        case _:
            return data[:head] + data[head + 1 :]


def accepted(messages: Any, kind: str, trials: int, seed: int) -> int:
    data, read = messages[kind]
    read(data)
    rng, through = np.random.default_rng(seed), 0
    for _ in range(trials):
        changed = altered(data, rng)
        try:
            read(changed)
        except CryptoError:
            continue
        through += changed != data
    return through


@pytest.mark.parametrize("kind", KINDS)
def test_altered_messages_are_refused(messages: Any, kind: str) -> None:
    found = accepted(messages, kind, 150, 1)
    assert found == 0 or kind in UNSIGNED


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_altered_messages_are_refused(messages: Any, kind: str) -> None:
    found = accepted(messages, kind, 20_000, 2)
    assert found == 0 or kind in UNSIGNED
