"""A vector for named readers: what the server relays and never reads, where no key is shared by all sites.

offset  size  field                                    (integers big endian)
0       4     magic "SPJV"
4       1     version, 1
5       …     for many readers (sealing.py): float32 numbers, little endian
end-64  64    the sender's Ed25519 signature of all before (signing.py, document "joint vector")

Study, round and sender are bound to every reader's key. The signature says who sealed it: without one, whoever knows a
reader's public key, as the server does, could seal a vector in a site's name.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected, ValueRejected
from sapefl_crypto.joint.frames import SIGNATURE_BYTES
from sapefl_crypto.joint.sealing import Readers, Unsealer, open_from_many, readers_of, seal_for_many
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import sign_document, verify_document

_MAGIC: Final = b"SPJV\x01"
_KIND: Final = "joint vector"
_NUMBERS: Final = np.dtype("<f4")


def seal_vector_for(
    readers: Readers, vector: npt.NDArray[np.floating[Any]], *, identity: SiteIdentity, study: str, round_index: int
) -> bytes:
    """What this site says to exactly these ``readers`` in this round of this study."""
    numbers = np.ascontiguousarray(vector, _NUMBERS)
    if vector.ndim != 1 or not vector.size or not np.isfinite(numbers).all():
        raise ValueRejected("Expected a flat, non-empty vector of finite numbers; it was not sealed.")
    context = _context(study, round_index, identity.public.name)
    message = _MAGIC + seal_for_many(readers, numbers.tobytes(), context=context)
    return message + sign_document(identity, message, kind=_KIND)


def open_vector_of(
    sender: SitePublicKeys, blob: bytes, *, reader: str, key: Unsealer, study: str, round_index: int
) -> npt.NDArray[np.float32]:
    """What ``sender`` sealed for ``reader`` in this round of this study, or `FrameRejected`."""
    message = _message(blob)
    verify_document(sender, message, blob[-SIGNATURE_BYTES:], kind=_KIND)
    context = _context(study, round_index, sender.name)
    plain = open_from_many(key, reader, message[len(_MAGIC) :], context=context)
    if len(plain) % _NUMBERS.itemsize or not plain:
        raise FrameRejected(f"Vector of {sender.name!r}, round {round_index}: it holds no whole numbers; leave it out.")
    numbers = np.frombuffer(plain, _NUMBERS).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise FrameRejected(f"Vector of {sender.name!r}, round {round_index}: it holds NaN or infinity; leave it out.")
    return numbers


def vector_readers(blob: bytes) -> tuple[str, ...]:
    """For whom it was sealed, by what it says in the open."""
    return readers_of(_message(blob)[len(_MAGIC) :])


def _message(blob: bytes) -> bytes:
    if not blob.startswith(_MAGIC) or len(blob) < len(_MAGIC) + SIGNATURE_BYTES:
        raise FrameRejected("Not a sealed vector of version 1; use the same package version at all sites.")
    return blob[:-SIGNATURE_BYTES]


def _context(study: str, round_index: int, sender: str) -> bytes:
    return bind("sapefl joint vector 1", study, round_index, sender)
