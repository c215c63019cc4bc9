"""Envelopes open exactly where they were meant to, and nowhere else."""

import struct
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sapefl_crypto.envelope import open_vector, seal_vector
from sapefl_crypto.errors import FrameRejected, KeyRejected, ValueRejected

KEY = bytes(range(32))
HERE = {"study": "heart", "round_index": 3, "sender": "site-a"}
VECTOR = np.array([1.5, -2.25, 0.0, 1e-3], np.float32)
HEADER, NONCE, TAG = 10, 12, 16

finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
vectors = arrays.arrays(np.float32, st.integers(1, 300), elements=finite32)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(vectors, names, names, st.integers(0, 2**64 - 1))
def test_float32_round_trip_is_exact(vector, study, sender, round_index):
    where = {"study": study, "round_index": round_index, "sender": sender}
    opened = open_vector(KEY, seal_vector(KEY, vector, **where), **where)
    assert opened.dtype == np.float32
    np.testing.assert_array_equal(opened.view(np.uint32), vector.view(np.uint32))


def test_size_on_the_wire():
    assert len(seal_vector(KEY, VECTOR, **HERE)) == HEADER + NONCE + 4 * VECTOR.size + TAG


def test_a_stored_envelope_of_version_1_still_opens():
    blob = bytes.fromhex(
        "535045560101000000046465666768696a6b6c6d6e6f481b1e5979e9465e3e625fe8b577e9c78217bef439a5d748075270157419ba93"
    )
    np.testing.assert_array_equal(open_vector(KEY, blob, **HERE), VECTOR)


def test_every_envelope_has_its_own_nonce():
    blobs = [seal_vector(KEY, VECTOR, **HERE) for _ in range(50)]
    assert len({blob[HEADER : HEADER + NONCE] for blob in blobs}) == len(blobs)


def test_strided_and_wide_vectors_are_sealed_by_value():
    wide = np.arange(10.0)[::2]
    np.testing.assert_array_equal(open_vector(KEY, seal_vector(KEY, wide, **HERE), **HERE), wide)


@pytest.mark.parametrize("elsewhere", [{"study": "lung"}, {"round_index": 4}, {"sender": "site-b"}])
def test_a_moved_envelope_does_not_open(elsewhere):
    moved = HERE | elsewhere
    with pytest.raises(FrameRejected, match=rf"'{moved['sender']}', round {moved['round_index']}"):
        open_vector(KEY, seal_vector(KEY, VECTOR, **HERE), **moved)


def test_study_and_sender_cannot_trade_letters():
    blob = seal_vector(KEY, VECTOR, study="ab", round_index=0, sender="c")
    with pytest.raises(FrameRejected):
        open_vector(KEY, blob, study="a", round_index=0, sender="bc")


def test_another_key_does_not_open():
    with pytest.raises(FrameRejected, match="another cohort key"):
        open_vector(bytes(32), seal_vector(KEY, VECTOR, **HERE), **HERE)


@given(st.data())
def test_every_flipped_bit_is_noticed(data):
    blob = bytearray(seal_vector(KEY, VECTOR, **HERE))
    bit = data.draw(st.integers(0, 8 * len(blob) - 1))
    blob[bit // 8] ^= 1 << bit % 8
    with pytest.raises(FrameRejected):
        open_vector(KEY, bytes(blob), **HERE)


@pytest.mark.parametrize("place", [0, 4, 5])
def test_a_foreign_format_is_named_as_such(place):
    blob = bytearray(seal_vector(KEY, VECTOR, **HERE))
    blob[place] = 9
    with pytest.raises(FrameRejected, match="not an envelope of version 1"):
        open_vector(KEY, bytes(blob), **HERE)


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(FrameRejected):
        open_vector(KEY, noise, **HERE)
    with pytest.raises(FrameRejected):
        open_vector(KEY, b"SPEV\x01\x01" + noise, **HERE)


def test_every_truncation_and_extension_is_refused():
    blob = seal_vector(KEY, VECTOR, **HERE)
    for wrong in [*(blob[:end] for end in range(len(blob))), blob + b"\0", blob + blob]:
        with pytest.raises(FrameRejected):
            open_vector(KEY, wrong, **HERE)


def test_a_lying_length_allocates_nothing(monkeypatch):
    blob = bytearray(seal_vector(KEY, VECTOR, **HERE))
    blob[6:10] = struct.pack(">I", 2**32 - 1)
    monkeypatch.setattr(np, "empty", lambda *_: pytest.fail("allocated before the length was checked"))
    with pytest.raises(FrameRejected, match="promises"):
        open_vector(KEY, bytes(blob), **HERE)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_vectors_are_not_sealed(bad):
    with pytest.raises(ValueRejected, match="not sealed"):
        seal_vector(KEY, np.array([0.0, bad], np.float32), **HERE)


def test_what_would_overflow_on_the_wire_is_not_sealed():
    with pytest.raises(ValueRejected, match="float32"):
        seal_vector(KEY, np.array([1e39]), **HERE)


def test_a_key_holder_cannot_send_nan(monkeypatch):
    with monkeypatch.context() as careless:
        careless.setattr(np, "isfinite", lambda numbers: np.ones(numbers.shape, bool))
        blob = seal_vector(KEY, np.array([np.nan], np.float32), **HERE)
    with pytest.raises(FrameRejected, match="NaN"):
        open_vector(KEY, blob, **HERE)


@pytest.mark.parametrize(
    "vector", [np.zeros((2, 2), np.float32), np.zeros(0, np.float32), np.zeros(2, int), np.zeros(2, complex)]
)
def test_only_flat_float_vectors_are_sealed(vector):
    with pytest.raises(ValueRejected, match="flat"):
        seal_vector(KEY, vector, **HERE)


@pytest.mark.parametrize("where", [{"round_index": -1}, {"round_index": 2**64}, {"study": "\ud800"}])
def test_impossible_places_are_refused(where):
    with pytest.raises(ValueRejected):
        seal_vector(KEY, VECTOR, **(HERE | where))


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_keys_of_other_sizes_are_refused(size):
    with pytest.raises(KeyRejected, match="32 bytes"):
        seal_vector(b"k" * size, VECTOR, **HERE)


@pytest.mark.parametrize(
    "attempt",
    [lambda: open_vector(KEY, b"junk", **HERE), lambda: seal_vector(KEY, np.zeros((2, 2), np.float32), **HERE)],
)
def test_a_traceback_with_locals_does_not_show_the_key(attempt):
    with pytest.raises((FrameRejected, ValueRejected)) as caught:
        attempt()
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack[2:]
    shown = [value for frame in frames for value in frame.locals.values()]
    assert "'heart'" in shown
    assert repr(KEY) not in shown
