"""A site's sealing key of one round, and one message for several readers.

Shares are sealed with HPKE (RFC 9180, the suite of identity.py) for X25519 keys that live in memory for one round: when
the round is over and the keys are gone, nobody opens them again, whoever has the site's disk. What a site must be able
to read later, or after a crash (answers, a model for peers), can be sealed for the key of its identity instead.

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
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected, KeyRejected
from sapefl_crypto.frames import encoded_sender, read_sender
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
SEALING_BYTES: Final = 32 + 16  # that HPKE adds to what it seals
_WRAPPED_BYTES: Final = _CONTENT_KEY_BYTES + SEALING_BYTES
_NONCE_BYTES: Final = 12
_KIND: Final = "joint sealing key"

Readers = Mapping[str, bytes]
"""Names and public sealing keys, of this round or of identities."""


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


class Unsealer(Protocol):
    """Whoever opens what was sealed for its public key: `SealingKey` or `LastingKey`."""

    def unseal(self, blob: bytes, *, context: bytes) -> Secret: ...


class LastingKey(Guarded):
    """The sealing key of a site's identity: it is on disk, and opens years later what was sealed for it today."""

    __slots__ = ("_identity", "public")

    def __init__(self, identity: SiteIdentity) -> None:
        self._identity = identity
        self.public: Final = identity.public.sealing

    def unseal(self, blob: bytes, *, context: bytes) -> Secret:
        try:
            return Secret(self._identity.unseal_as(blob, info=_info(self.public, context)))
        except KeyRejected as error:
            raise FrameRejected(str(error)) from None


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


def open_from_many(key: Unsealer, reader: str, blob: bytes, *, context: bytes) -> bytes:
    """The data, if ``reader`` with this key is among those it was sealed for; else `FrameRejected`."""
    wrapped, start = _find(blob, reader)
    content = key.unseal(wrapped, context=context)
    nonce = blob[start : start + _NONCE_BYTES]
    try:
        about = _about(blob[:start], context)
        return AESGCM(content.reveal()).decrypt(nonce, blob[start + _NONCE_BYTES :], about)
    except (InvalidTag, ValueError):
        raise FrameRejected("A sealed message was altered on its way; ask for it again.") from None


def readers_of(blob: bytes) -> tuple[str, ...]:
    """For whom a message was sealed, by what it says in the open; who is named falsely cannot open it."""
    return tuple(_entry_name(entry) for entry, _ in _entries(blob))


def _find(blob: bytes, reader: str) -> tuple[bytes, int]:
    """The reader's sealed key, and where the list of readers ends."""
    wanted, entries = _entry(reader), list(_entries(blob))
    found = [entry[len(wanted) :] for entry, _ in entries if entry.startswith(wanted)]
    if not found:
        raise FrameRejected(f"This message was not sealed for {reader!r}.")
    return found[0], entries[-1][1]


def _entries(blob: bytes) -> Iterator[tuple[bytes, int]]:
    """Every reader's entry, and where it ends; read only as far as bytes are there."""
    if len(blob) < _HEADER.size or blob[:4] != _MAGIC or blob[4] != _VERSION:
        raise FrameRejected(f"Not a sealed message of version {_VERSION}; use the same package version everywhere.")
    start = _HEADER.size
    for _ in range(_HEADER.unpack_from(blob)[2]):
        end = start + 1 + (blob[start] if start < len(blob) else 0) + _WRAPPED_BYTES
        if end > len(blob):
            raise FrameRejected("A sealed message's list of readers runs past its end; ask for it again.")
        yield blob[start:end], end
        start = end


def _entry_name(entry: bytes) -> str:
    return read_sender(entry[1:-_WRAPPED_BYTES], "A sealed message")


def _entry(name: str) -> bytes:
    encoded = encoded_sender(name)
    return bytes([len(encoded)]) + encoded


def _info(public: bytes, context: bytes) -> bytes:
    return bind("sapefl joint sealed 1", public, context)


def _about(header: bytes, context: bytes) -> bytes:
    return bind("sapefl joint message 1", hashlib.sha256(header).digest(), context)
