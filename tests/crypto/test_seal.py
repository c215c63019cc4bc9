from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sapefl_crypto import CryptoError, seal
from sapefl_crypto.secret_ring import SecretRing


@pytest.mark.parametrize("degree", [4096, 8192])
def test_a_ciphertext_survives_our_headers_at_every_degree(degree: int) -> None:
    """8192 makes SEAL's zstd frame several blocks long; both shapes must come through."""
    ring = seal.ring_of(degree, 2.0**37)
    secret = SecretRing(ring)
    slots = np.random.default_rng(0).uniform(-1, 1, degree).view(np.complex128)
    total = ring.load_fresh(*secret.encrypt(slots))
    ring.weigh(total, ring.weight(3))
    [decrypted] = secret.decrypt([ring.save_sum(total)])
    assert np.abs(decrypted - 3 * slots).max() < 1e-7


def test_numbers_are_taken_only_from_raw_blocks() -> None:
    header = b"\x5e\xa1\x10\x04\x03\x02\0\0" + bytes(8)
    compressed_block = (1 | 2 << 1 | 5 << 3).to_bytes(3, "little") + bytes(5)
    with pytest.raises(CryptoError, match="compressed"):
        seal._body(memoryview(header + b"\x28\xb5\x2f\xfd\x60\0\0" + compressed_block))
    with pytest.raises(CryptoError, match="unknown way"):
        seal._body(memoryview(header + b"not zstd"))


def test_seals_table_decides_the_security_level() -> None:
    assert [seal.security_bits(degree) for degree in (1024, 2048, 4096, 8192)] == [0, 0, 192, 256]


def test_a_private_folder_stands_in_where_memory_files_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "_MEMORY_FILES", False)
    monkeypatch.delattr("os.memfd_create")
    ring = seal.Ring(4096, 2.0**37)
    secret = SecretRing(ring)
    cipher = ring.load_fresh(*secret.encrypt(np.ones(2048, complex)))
    [decrypted] = secret.decrypt([ring.save_sum(cipher)])
    assert np.abs(decrypted - 1).max() < 1e-7


def test_threads_and_forked_children_do_not_read_each_others_ciphertexts() -> None:
    ring = seal.ring_of(4096, 2.0**37)
    secret = SecretRing(ring)
    fresh = [secret.encrypt(np.full(2048, complex(value))) for value in range(4)]

    def wrong(value: int) -> int:
        loads = (ring.load_fresh(*fresh[value]) for _ in range(50))
        decrypted = secret.decrypt(ring.save_sum(cipher) for cipher in loads)
        return sum(abs(slots[0] - value) > 1e-6 for slots in decrypted)

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(wrong, range(4))) == 0
    inbox = ring._load_into.__self__  # where SEAL's bytes wait; only a fork shows what it is for
    owner, descriptor = inbox._owner, inbox._descriptor  # as above
    inbox._owner = owner + 1  # as a forked child finds it
    assert wrong(1) == 0
    assert inbox._descriptor != descriptor  # as above
