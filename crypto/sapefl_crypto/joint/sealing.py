"""A site's sealing key of one round, and one message for several readers.

Shares and answers are sealed with HPKE (RFC 9180, the suite of identity.py) for X25519 keys that live in memory for one
round: when the round is over and the keys are gone, nobody opens them again, whoever has the site's disk.

One message for many readers (an answer, a model for peers) is encrypted once with AES-256-GCM under a fresh key, and
that key is sealed for each reader:

offset  size  field                                    (integers big endian)
0       4     magic "SPJM"
4       1     version, 1
5       4     number r of readers
9       …     readers: 1 byte length s, s bytes name, 80 bytes sealed key
…       12    nonce
…       …     ciphertext and 16 bytes tag; all before the nonce is associated data
"""

import hashlib
import os
import struct
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected, KeyRejected
from sapefl_crypto.frames import encoded_sender
from sapefl_crypto.joint.occasion import Moment
from sapefl_crypto.keys.identity import SUITE, SiteIdentity, SitePublicKeys, can_seal
from sapefl_crypto.keys.signing import sign_document, verify_document
from sapefl_crypto.secret import Guarded, Secret

PUBLIC_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_MAGIC: Final = b"SPJM"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(">4sBI")
_CONTENT_KEY_BYTES: Final = 32
_WRAPPED_BYTES: Final = 32 + _CONTENT_KEY_BYTES + 16
_NONCE_BYTES: Final = 12
_KIND: Final = "joint sealing key"

Readers = Mapping[str, bytes]
"""Names and public sealing keys of this round."""


class SealingKey(Guarded):
    """X25519, for one attempt at one round. It cannot be exported; `erase` ends it."""

    __slots__ = ("_private", "public")

    def __init__(self) -> None:
        self._private: X25519PrivateKey | None = X25519PrivateKey.generate()
        self.public: Final = self._private.public_key().public_bytes_raw()

    def announcement(self, identity: SiteIdentity, moment: Moment) -> bytes:
        """The public key and the site's signature under it, for the others (`announced`)."""
        return self.public + sign_document(identity, moment.to_bytes() + self.public, kind=_KIND)

    def unseal(self, blob: bytes, *, context: bytes) -> Secret:
        if self._private is None:
            raise KeyRejected("This round's sealing key was erased when the round closed; nothing opens it again.")
        try:
            return Secret(SUITE.decrypt(blob, self._private, _info(self.public, context)))
        except (InvalidTag, ValueError):
            raise FrameRejected(
                "It does not open: damaged, or sealed for another key, round, sender or purpose; ask for it again."
            ) from None

    def erase(self) -> None:
        self._private = None


def announced(site: SitePublicKeys, announcement: bytes, moment: Moment) -> bytes:
    """The sealing key this site announced for this moment, or `FrameRejected`."""
    public, signature = announcement[:PUBLIC_BYTES], announcement[PUBLIC_BYTES:]
    if len(signature) != _SIGNATURE_BYTES or not can_seal(public):
        raise FrameRejected(f"Site {site.name!r}: this announces no usable sealing key; ask for it again.")
    verify_document(site, moment.to_bytes() + public, signature, kind=_KIND)
    return public


def seal(public: bytes, data: bytes, *, context: bytes) -> bytes:
    return SUITE.encrypt(data, X25519PublicKey.from_public_bytes(public), _info(public, context))


def seal_for_many(readers: Readers, data: bytes, *, context: bytes) -> bytes:
    key, nonce = os.urandom(_CONTENT_KEY_BYTES), os.urandom(_NONCE_BYTES)
    wrapped = [_entry(name) + seal(public, key, context=context) for name, public in readers.items()]
    header = b"".join((_HEADER.pack(_MAGIC, _VERSION, len(wrapped)), *wrapped))
    return header + nonce + AESGCM(key).encrypt(nonce, data, _about(header, context))


def open_from_many(key: SealingKey, reader: str, blob: bytes, *, context: bytes) -> bytes:
    """The data, if ``reader`` with this key is among those it was sealed for; else `FrameRejected`."""
    wrapped, start = _find(blob, reader)
    content = key.unseal(wrapped, context=context)
    nonce = blob[start : start + _NONCE_BYTES]
    try:
        about = _about(blob[:start], context)
        return AESGCM(content.reveal()).decrypt(nonce, blob[start + _NONCE_BYTES :], about)
    except (InvalidTag, ValueError):
        raise FrameRejected("A sealed message was altered on its way; ask for it again.") from None


def _find(blob: bytes, reader: str) -> tuple[bytes, int]:
    """The reader's sealed key, and where the list of readers ends. Entries are read only as far as bytes are there."""
    if len(blob) < _HEADER.size or blob[:4] != _MAGIC or blob[4] != _VERSION:
        raise FrameRejected(f"Not a sealed message of version {_VERSION}; use the same package version everywhere.")
    _, _, count = _HEADER.unpack_from(blob)
    start, found, wanted = _HEADER.size, b"", _entry(reader)
    for _ in range(count):
        end = start + 1 + (blob[start] if start < len(blob) else 0) + _WRAPPED_BYTES
        if end > len(blob):
            raise FrameRejected("A sealed message's list of readers runs past its end; ask for it again.")
        if blob[start : end - _WRAPPED_BYTES] == wanted:
            found = blob[end - _WRAPPED_BYTES : end]
        start = end
    if not found:
        raise FrameRejected(f"This message was not sealed for {reader!r}.")
    return found, start


def _entry(name: str) -> bytes:
    encoded = encoded_sender(name)
    return bytes([len(encoded)]) + encoded


def _info(public: bytes, context: bytes) -> bytes:
    return bind("sapefl joint sealed 1", public, context)


def _about(header: bytes, context: bytes) -> bytes:
    return bind("sapefl joint message 1", hashlib.sha256(header).digest(), context)
