"""What a site does with its secret key."""

import numpy as np

from sapefl_crypto import seal
from sapefl_crypto.secret_ring import SecretRing


def test_the_secret_key_survives_storing() -> None:
    ring = seal.ring_of(4096, 2.0**37)
    secret = SecretRing(ring)
    twin = SecretRing(ring, secret.secret_coefficients())
    slots = np.full(2048, 1.5 - 0.5j)
    cipher = ring.load_fresh(*secret.encrypt(slots))
    [decrypted] = twin.decrypt([ring.save_sum(cipher)])
    assert np.abs(decrypted - slots).max() < 1e-7


def test_two_encryptions_of_one_message_share_nothing() -> None:
    ring = seal.ring_of(4096, 2.0**37)
    secret = SecretRing(ring)
    (first, first_seed), (second, second_seed) = (secret.encrypt(np.zeros(2048, complex)) for _ in range(2))
    assert first_seed != second_seed
    assert (first == second).mean() < 0.01


def test_another_key_decrypts_to_noise() -> None:
    ring = seal.ring_of(4096, 2.0**37)
    slots = np.full(2048, 1.5 - 0.5j)
    [decrypted] = SecretRing(ring).decrypt([ring.save_sum(ring.load_fresh(*SecretRing(ring).encrypt(slots)))])
    assert np.abs(decrypted - slots).max() > 1e3
