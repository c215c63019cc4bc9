"""What only a site asks of Microsoft SEAL: make a secret key, encrypt and decrypt. No server module imports this."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import tenseal.sealapi as sealapi

from sapefl_crypto.seal import HEADER_BYTES, Coefficients, Ring, Slots, array_header, header, loaded, saved
from sapefl_crypto.secret import Guarded


class SecretRing(Guarded):
    """A ring together with its secret key: what only a site may do."""

    __slots__ = ("_decryptor", "_encryptor", "_ring", "_secret")

    def __init__(self, ring: Ring, secret: Coefficients | None = None) -> None:
        self._ring = ring
        self._secret = _load_secret(ring, secret) if secret is not None else _new_secret(ring)
        self._encryptor = sealapi.Encryptor(ring.context, self._secret)
        self._decryptor = sealapi.Decryptor(ring.context, self._secret)

    def secret_coefficients(self) -> Coefficients:
        return self._ring.numbers(saved(self._secret.save), self._ring.degree, len(_secret_metadata(self._ring)))

    def encrypt(self, slots: Slots) -> tuple[Coefficients, bytes]:
        """One-argument ``encrypt_symmetric`` keeps the seed of the second polynomial: half the bytes."""
        return self._ring.fresh_parts(self._encryptor.encrypt_symmetric(self._ring.encode(slots)))

    def decrypt(self, sums: Iterable[Coefficients]) -> Iterator[Slots]:
        """The slots of one sum after the other, all through the same two SEAL objects."""
        cipher, plain = sealapi.Ciphertext(), sealapi.Plaintext()
        for both in sums:
            self._decryptor.decrypt(self._ring.load_sum(both, cipher), plain)
            yield self._ring.decode(plain)


def _new_secret(ring: Ring) -> Any:
    return sealapi.KeyGenerator(ring.context).secret_key()


def _secret_metadata(ring: Ring) -> bytes:
    return struct.pack("<4QQd", *ring.context.key_parms_id(), ring.degree, 1.0) + array_header(ring.degree)


def _load_secret(ring: Ring, coefficients: Coefficients) -> Any:
    body = _secret_metadata(ring) + coefficients.tobytes()
    secret = sealapi.SecretKey()
    loaded(secret.load, ring.context, header(HEADER_BYTES + len(body)), body)
    return secret
