"""Keys and keystreams from the cohort's root: HKDF-SHA256 to separate purposes, AES-256-CTR to stretch them.

Every purpose has its own label, and `bind` encodes label and fields injectively, so no two purposes, studies, rounds
or senders ever share a key.
"""

from functools import cache

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sapefl_crypto.binding import bind
from sapefl_crypto.secret import Secret

ROOT_BYTES = 32


def derive(root: Secret, purpose: str, *fields: bytes | str | int) -> Secret:
    info = bind("sapefl cohort 1", purpose, *fields)
    return Secret(HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(root.reveal()))


def keystream(key: Secret, block: int, size: int) -> bytes:
    """``size`` pseudorandom bytes, independent for every ``block``: its number is the upper half of the counter."""
    counter = block.to_bytes(8, "big") + bytes(8)
    return Cipher(algorithms.AES256(key.reveal()), modes.CTR(counter)).encryptor().update(_zeros(size))


@cache
def _zeros(size: int) -> bytes:
    return bytes(size)
