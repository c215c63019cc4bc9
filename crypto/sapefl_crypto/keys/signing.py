"""Signed frames: the transport may carry, drop and repeat messages, but not make one.

The Ed25519 signature covers the header, the study, the round, the kind of message and SHA-256 of the payload. A frame
repeated in another round, study or role fails. Repeats within one round are the receiver's to refuse: it counts a
sender once.

    offset  size  field
    0       4     magic "SPSF"
    4       1     version, 1
    5       1     length n of the signer's name
    6       8     payload length p, big endian
    14      n     signer's name, ASCII
    14+n    p     payload
    14+n+p  64    Ed25519 signature
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys

_MAGIC: Final = b"SPSF"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(">4sBBQ")
_SIGNATURE_BYTES: Final = 64

Roster = Mapping[str, SitePublicKeys]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedFrame:
    """A payload and the site that signed it. Compare ``signer`` with whoever the payload claims to come from."""

    signer: str
    payload: bytes = field(repr=False)


def sign_frame(identity: SiteIdentity, payload: bytes, *, study: str, round_index: int, kind: str) -> bytes:
    """Wrap ``payload`` as what this site says, in this round of this study, in a message of this ``kind``."""
    name = identity.public.name.encode()
    header = _HEADER.pack(_MAGIC, _VERSION, len(name), len(payload)) + name
    signature = identity.sign(_statement(header, payload, study, round_index, kind))
    return b"".join((header, payload, signature))


def verify_frame(public: SitePublicKeys | Roster, framed: bytes, *, study: str, round_index: int, kind: str) -> bytes:
    """The payload, if the one site expected (or any site of a roster) signed it for exactly this; else `FrameRejected`.

    With a roster, `verify_signer` also says which site it was.
    """
    roster = {public.name: public} if isinstance(public, SitePublicKeys) else public
    return verify_signer(roster, framed, study=study, round_index=round_index, kind=kind).payload


def verify_signer(roster: Roster, framed: bytes, *, study: str, round_index: int, kind: str) -> VerifiedFrame:
    """The payload and its signer, if a site of the ``roster`` signed it for exactly this; else `FrameRejected`."""
    what = f"{kind} frame, round {round_index}"
    header, signer = _parse(framed, what)
    if signer not in roster:
        raise FrameRejected(f"Site {signer!r}, {what}: not on the roster of study {study!r}; leave it out.")
    payload, signature = framed[len(header) : -_SIGNATURE_BYTES], framed[-_SIGNATURE_BYTES:]
    try:
        roster[signer].verify(signature, _statement(header, payload, study, round_index, kind))
    except InvalidSignature:
        raise FrameRejected(
            f"Site {signer!r}, {what}: the signature does not hold for study {study!r}. The frame was altered, "
            "replayed from elsewhere, or signed with another key; leave it out and compare the site's fingerprint."
        ) from None
    return VerifiedFrame(signer=signer, payload=payload)


def sign_document(identity: SiteIdentity, document: bytes, *, kind: str) -> bytes:
    """A detached signature under a document that outlives rounds: a study, a consent, the state of a ledger."""
    return identity.sign(_document_statement(document, kind))


def verify_document(public: SitePublicKeys, document: bytes, signature: bytes, *, kind: str) -> None:
    """Return only if this party signed exactly ``document`` as a document of this ``kind``; else `FrameRejected`."""
    try:
        public.verify(signature, _document_statement(document, kind))
    except InvalidSignature:
        raise FrameRejected(
            f"The signature of {public.name!r} does not hold for this {kind}: it was altered after signing, or signed "
            f"with another key. Ask {public.name!r} for it again."
        ) from None


def _document_statement(document: bytes, kind: str) -> bytes:
    return bind("sapefl signed document", kind, hashlib.sha256(document).digest())


def _parse(framed: bytes, what: str) -> tuple[bytes, str]:
    """Header with name, and the name; believed only where the lengths fit the bytes that are really there."""
    if len(framed) < _HEADER.size:
        raise FrameRejected(f"A {what}: {len(framed)} bytes are too few for a signed frame; leave it out.")
    magic, version, name_bytes, payload_bytes = _HEADER.unpack_from(framed)
    if magic != _MAGIC or version != _VERSION:
        raise FrameRejected(f"A {what}: not a signed frame of version {_VERSION}; use the same package version.")
    start = _HEADER.size + name_bytes
    signer = framed[_HEADER.size : start].decode("ascii", "backslashreplace")
    expected = start + payload_bytes + _SIGNATURE_BYTES
    if len(framed) != expected:
        raise FrameRejected(f"Site {signer!r}, {what}: its header promises {expected} bytes, {len(framed)} came.")
    return framed[:start], signer


def _statement(header: bytes, payload: bytes, study: str, round_index: int, kind: str) -> bytes:
    digest = hashlib.sha256(payload).digest()  # one pass over megabytes, where Ed25519 itself would take two
    return bind("sapefl signed frame", header, study, round_index, kind, digest)
