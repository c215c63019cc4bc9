"""The twin without encryption must behave as the encrypted path does, or comparing the two says nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapefl_crypto import Aggregate, Aggregator, CohortKey, Parameters
from sapefl_crypto.errors import FrameRejected
from secure_sapefl.protocol import plaintext
from secure_sapefl.protocol.plaintext import PlaintextAdder, PlaintextCodec, pack, unpack

PARAMS = Parameters(max_clients=4)
ABOUT = {"study": "s", "round_index": 3}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.floats(0, 2), min_size=1, max_size=4))
def test_it_says_what_the_encrypted_path_says(key: CohortKey, seed: int, scores: list[float]) -> None:
    """Same weights to the last integer, same mean to the error the parameters promise."""
    updates = np.random.default_rng(seed).uniform(-8, 8, (len(scores), 20)).astype(np.float32)
    codec = PlaintextCodec(PARAMS)
    clear = PlaintextAdder(PARAMS, **ABOUT, length=20, max_score=2.0)
    hidden = Aggregator(PARAMS, **ABOUT, length=20, max_score=2.0)
    for name, update, score in zip("abcd", updates, scores, strict=False):
        clear.add(codec.encrypt(update, **ABOUT, sender=name), score)
        hidden.add(key.encrypt(update, **ABOUT, sender=name), score)
    plain, encrypted = clear.finish(), hidden.finish()
    assert plain.weights == encrypted.weights
    mean = codec.decrypt(plain.to_bytes(), **ABOUT)
    decrypted = key.decrypt(Aggregate.from_bytes(encrypted.to_bytes()), **ABOUT)
    if mean is None or decrypted is None:
        assert mean is decrypted is None
    else:
        np.testing.assert_allclose(mean, decrypted, atol=PARAMS.max_error + 1e-6, rtol=0)


def test_a_vector_that_is_handled_in_parts_is_the_one_that_is_handled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plaintext, "_AT_ONCE", 7)  # where parts meet, and a last one that is short
    params, length = Parameters.exact(max_clients=4), 17
    vector = np.random.default_rng(0).uniform(-8, 8, length).astype(np.float32)
    frame = PlaintextCodec(params).encrypt(vector, **ABOUT, sender="a")
    on_grid = params.on_grid(vector.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(unpack(frame, **ABOUT)[1], on_grid)
    adder = PlaintextAdder(params, **ABOUT, length=length, max_score=1.0)
    adder.add(frame, 0.5)
    np.testing.assert_array_equal(adder.finish().mean, on_grid)


def test_a_model_that_was_opened_may_be_written_into() -> None:
    codec = PlaintextCodec(PARAMS)
    opened = codec.open(codec.seal(np.ones(2, np.float32), **ABOUT, sender="a"), **ABOUT, sender="a")
    opened += 1
    assert opened.tolist() == [2, 2]


@given(st.text(max_size=20), st.integers(0, 2**32 - 1), st.text(min_size=1, max_size=20), st.integers(0, 50))
def test_a_frame_gives_back_what_was_put_in(study: str, round_index: int, sender: str, length: int) -> None:
    vector = np.linspace(-1, 1, length, dtype=np.float32)
    owner, back = unpack(pack(vector, study=study, round_index=round_index, sender=sender), study=study,
                         round_index=round_index)  # fmt: skip
    assert owner == sender
    np.testing.assert_array_equal(back, vector)


@given(st.binary(max_size=100))
def test_any_other_bytes_are_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(FrameRejected):
        unpack(data, study="s", round_index=3)
