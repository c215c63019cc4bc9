"""A vector for named readers, signed by its sender."""

import os

import numpy as np
import pytest

from sapefl_crypto import FrameRejected, SiteIdentity, ValueRejected
from sapefl_crypto.joint.sealed_vector import open_vector_of, seal_vector_for, vector_readers
from sapefl_crypto.joint.sealing import LastingKey
from sapefl_crypto.keys.signing import sign_document

SITES = {name: SiteIdentity.generate(name) for name in "abcd"}
READERS = {name: SITES[name].public.sealing for name in "bc"}
VECTOR = np.array([0.5, -1.0, 2.0], np.float32)


def sealed(vector: np.ndarray = VECTOR) -> bytes:
    return seal_vector_for(READERS, vector, identity=SITES["a"], study="s", round_index=3)


def opened(blob: bytes, reader: str = "b", sender: str = "a", study: str = "s", round_index: int = 3) -> np.ndarray:
    return open_vector_of(
        SITES[sender].public, blob, reader=reader, key=LastingKey(SITES[reader]), study=study, round_index=round_index
    )


def test_each_reader_opens_it_and_nobody_else() -> None:
    blob = sealed()
    assert vector_readers(blob) == ("b", "c")
    for reader in "bc":
        assert np.array_equal(opened(blob, reader), VECTOR)
    with pytest.raises(FrameRejected, match="not sealed for 'd'"):
        opened(blob, "d")
    with pytest.raises(FrameRejected, match="cannot open"):
        open_vector_of(SITES["a"].public, blob, reader="b", key=LastingKey(SITES["c"]), study="s", round_index=3)


@pytest.mark.parametrize("other", [{"study": "t"}, {"round_index": 4}])
def test_it_is_of_one_study_and_round(other: dict) -> None:
    with pytest.raises(FrameRejected, match="cannot open"):
        opened(sealed(), **other)


def test_nobody_seals_in_anothers_name() -> None:
    """A server knows every reader's public key, and may seal what it likes; it cannot sign."""
    forged = seal_vector_for(READERS, VECTOR, identity=SITES["d"], study="s", round_index=3)
    with pytest.raises(FrameRejected, match="signature of 'a'"):
        opened(forged)
    with pytest.raises(FrameRejected, match="signature of 'd'"):
        opened(sealed(), sender="d")


def test_altered_ones_do_not_open() -> None:
    blob = sealed()
    for at in range(len(blob)):
        with pytest.raises(FrameRejected):
            opened(blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :])
        with pytest.raises(FrameRejected):
            opened(blob[:at])


def test_what_is_no_vector_is_neither_sealed_nor_taken() -> None:
    for bad in (np.array([np.nan], np.float32), np.array([1e300]), np.zeros((2, 2), np.float32), np.empty(0)):
        with np.errstate(over="ignore"), pytest.raises(ValueRejected):
            sealed(bad)
    blob = sealed(np.array([1.0], np.float32))
    assert len(sealed()) - len(blob) == 8
    message = b"SPJV\x01" + os.urandom(40)
    with pytest.raises(FrameRejected, match="Not a sealed message"):
        opened(message + sign_document(SITES["a"], message, kind="joint vector"))
