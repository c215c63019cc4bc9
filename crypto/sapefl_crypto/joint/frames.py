"""One site's vector under its key of the round, on the wire: a signed manifest, then the polynomials.

offset      size  field                                (integers big endian)
0           4     magic "SPJF"
4           1     version, 1
5           100   occasion (occasion.py)
105         16    nonce: first bytes of a digest of all sealed shares; names this key
121         8     score, a double
129         4     weight
133         32    the site's sealing key of this round
165         32    SHA-256 of the payload
197         1     k, size of the committee
198         1     s, length of the sender's name
199         s     sender, UTF-8
199+s       32k   SHA-256 of every member's sealed share, in the committee's order
199+s+32k   64    the sender's Ed25519 signature of all before (signing.py, document "joint frame")
263+s+32k   …     payload: chunks of N packed 60-bit numbers, one polynomial each

Members see the manifest and the signature alone: they know by them who sent what with which weight, and that a sealed
share is the sender's own. A server that could put shares of its making in a site's place would open what no claim says.
"""

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.claims import quantise_score
from sapefl_crypto.errors import FrameRejected, ValueRejected
from sapefl_crypto.frames import NONCE_BYTES, encoded_sender, read_sender
from sapefl_crypto.joint.occasion import OCCASION_BYTES, JointOccasion, JointRound
from sapefl_crypto.keys.identity import SiteIdentity, can_seal
from sapefl_crypto.keys.signing import sign_document, verify_document

DIGEST_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_MAGIC: Final = b"SPJF"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(f">4sB{OCCASION_BYTES}s{NONCE_BYTES}sdI32s{DIGEST_BYTES}sBB")
_KIND: Final = "joint frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a site signs about its frame."""

    occasion: JointOccasion
    nonce: bytes
    score: float
    weight: int
    sealing: bytes
    payload_digest: bytes
    sender: str
    share_digests: tuple[bytes, ...]

    def to_bytes(self) -> bytes:
        name = encoded_sender(self.sender)
        header = _HEADER.pack(
            _MAGIC, _VERSION, self.occasion.to_bytes(), self.nonce, self.score, self.weight, self.sealing,
            self.payload_digest, len(self.share_digests), len(name),
        )  # fmt: skip
        return b"".join((header, name, *self.share_digests))

    def signed(self, identity: SiteIdentity) -> bytes:
        manifest = self.to_bytes()
        return manifest + sign_document(identity, manifest, kind=_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFrame:
    manifest: Manifest
    payload: memoryview = field(repr=False)


def digest(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def nonce_of(sender: str, share_digests: Sequence[bytes]) -> bytes:
    """The key's name: sealed shares are random, so no two keys have one, and a claim that holds it fixes the shares."""
    return digest(bind("sapefl joint nonce 1", sender, *share_digests))[:NONCE_BYTES]


def signed_part(data: bytes) -> bytes:
    """Manifest and signature of a frame, without the payload: what the server passes on to the committee."""
    return data[: _manifest_size(data, "A frame") + SIGNATURE_BYTES]


def attempt_of(data: bytes) -> int:
    """Which attempt at its round a frame says it was made for; nobody has checked it."""
    _manifest_size(data, "A frame")
    return JointOccasion.from_bytes(_HEADER.unpack_from(data)[2]).attempt


def parse_frame(data: bytes, about: JointRound) -> JointFrame:
    """The frame, if its sender signed it for this round and every length and digest fits; else `FrameRejected`."""
    end = _manifest_size(data, f"A frame for {about}") + SIGNATURE_BYTES
    manifest, payload = read_manifest(data[:end], about), memoryview(data)[end:]
    who = f"Sender {manifest.sender!r}, {about}"
    size = about.chunks * about.plan.chunk_bytes
    if len(payload) != size:
        raise FrameRejected(f"{who}: {len(payload)} bytes of payload, the model implies {size}; leave it out.")
    if digest(payload) != manifest.payload_digest:
        raise FrameRejected(f"{who}: damaged on the way; send the same bytes again.")
    return JointFrame(manifest=manifest, payload=payload)


def read_manifest(data: bytes, about: JointRound) -> Manifest:
    """The manifest from `signed_part`, if a site of the roster signed it for exactly this round."""
    who = f"A frame for {about}"
    manifest = _read(data[:-SIGNATURE_BYTES], who)
    who = f"Sender {manifest.sender!r}, {about}"
    if difference := about.occasion.difference(manifest.occasion):
        raise FrameRejected(f"{who}: {difference}; leave it out.")
    if manifest.sender not in about.roster:
        raise FrameRejected(f"{who}: not on the roster of study {about.study!r}; leave it out.")
    verify_document(about.roster[manifest.sender], data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:], kind=_KIND)
    for wrong, sentence in (
        (manifest.weight != _weight(manifest.score, about), f"weight {manifest.weight} for score {manifest.score}"),
        (manifest.nonce != nonce_of(manifest.sender, manifest.share_digests), "its nonce is not that of its shares"),
        (len(manifest.share_digests) != len(about.committee.members), "another number of shares than members"),
        (not can_seal(manifest.sealing), "its sealing key is none"),
    ):
        if wrong:
            raise FrameRejected(f"{who}: {sentence}; leave it out.")
    return manifest


def _weight(score: float, about: JointRound) -> int:
    """The weight of a score; -1, which no frame has, where the score is impossible."""
    try:
        return quantise_score(score, about.max_score, about.plan.weight_bits) if math.isfinite(score) else -1
    except ValueRejected:
        return -1


def _manifest_size(data: bytes, who: str) -> int:
    if len(data) < _HEADER.size + SIGNATURE_BYTES:
        raise FrameRejected(f"{who}: {len(data)} bytes are too few to be one; send it again.")
    if data[:4] != _MAGIC or data[4] != _VERSION:
        raise FrameRejected(f"{who}: not a joint frame of version {_VERSION}; use the same package version everywhere.")
    members, name_bytes = data[_HEADER.size - 2], data[_HEADER.size - 1]
    return _HEADER.size + name_bytes + DIGEST_BYTES * members


def _read(data: bytes, who: str) -> Manifest:
    if _manifest_size(data + bytes(SIGNATURE_BYTES), who) != len(data):
        raise FrameRejected(f"{who}: its header and its {len(data)} bytes disagree; send it again.")
    _, _, occasion, nonce, score, weight, sealing, payload_digest, _, name_bytes = _HEADER.unpack_from(data)
    start = _HEADER.size + name_bytes
    return Manifest(
        occasion=JointOccasion.from_bytes(occasion), nonce=nonce, score=score, weight=weight, sealing=sealing,
        payload_digest=payload_digest, sender=read_sender(data[_HEADER.size : start], who),
        share_digests=_slices(data[start:], DIGEST_BYTES),
    )  # fmt: skip


def _slices(data: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(data[start : start + size] for start in range(0, len(data), size))
