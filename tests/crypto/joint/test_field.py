"""Exact arithmetic modulo q, against Python's whole numbers."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto.derivation import keystream
from sapefl_crypto.joint import field
from sapefl_crypto.joint.field import PRIME, Functionals
from sapefl_crypto.secret import Secret

numbers = st.integers(0, PRIME - 1)
EDGES = [0, 1, PRIME - 1, PRIME // 2, PRIME // 2 + 1, 2**30 - 1, 2**30, 2**59]


def array(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


@settings(deadline=None)
@given(numbers, numbers)
def test_sums_products_and_signs_are_those_of_whole_numbers(a: int, b: int) -> None:
    assert field.added(array(a), array(b))[0] == (a + b) % PRIME
    assert field.times(array(a), b)[0] == a * b % PRIME
    assert field.negated(array(a))[0] == -a % PRIME
    signed = b if b < PRIME // 2 else b - PRIME
    assert field.with_signed(array(a), np.array([signed]))[0] == (a + signed) % PRIME
    assert field.centred(array(b))[0] == signed


@pytest.mark.parametrize("a", EDGES)
@pytest.mark.parametrize("b", EDGES)
def test_products_at_the_edges(a: int, b: int) -> None:
    assert field.times(array(a), b)[0] == a * b % PRIME


@settings(deadline=None)
@given(st.integers(0, 2**49), st.integers(0, 2**63), st.sampled_from([30, 36]))
def test_limbs_come_together(high: int, low: int, shift: int) -> None:
    assert field.reduced(array(high), array(low), shift)[0] == (high * 2**shift + low) % PRIME


@pytest.mark.parametrize("bound", [2, 2**20, 2**31, 2**41, 2**60])
def test_inner_products_are_exact_at_full_length(bound: int) -> None:
    rng = np.random.default_rng(bound % 1000)
    rows = rng.integers(0, PRIME, (3, 4096), np.uint64)
    vectors = rng.integers(-bound + 1, bound, (2, 4096))
    vectors[0, :] = bound - 1  # the largest sums there are
    vectors[1, :] = -bound + 1
    rows[0, :] = PRIME - 1
    wanted = [
        [sum(int(v) * int(r) for v, r in zip(vector, row, strict=True)) % PRIME for row in rows] for vector in vectors
    ]
    assert Functionals(rows)(vectors).tolist() == wanted


def test_the_stream_passes_over_what_is_not_below_the_prime(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a prime of half the range about half the words must go, and the stream must go on in order."""
    key = Secret(hashlib.sha256(b"a stream").digest())
    monkeypatch.setattr(field, "PRIME", 2**59)
    words = np.frombuffer(keystream(key, 5, 8 * 4000), "<u8") & np.uint64(2**60 - 1)
    assert field.uniform(key, 5, 1000).tolist() == words[words < 2**59][:1000].tolist()


def test_streams_of_different_blocks_differ() -> None:
    key = Secret(bytes(32))
    assert not np.array_equal(field.uniform(key, 0, 10), field.uniform(key, 1, 10))
    assert field.uniform(key, 0, 10).tolist() == field.uniform(key, 0, 20)[:10].tolist()
