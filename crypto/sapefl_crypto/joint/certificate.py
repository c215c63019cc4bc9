"""Proof that more than (k + f) / 2 members signed one claim: without it no member answers, and no site opens a sum.

offset  size  field                                    (integers big endian)
0       4     magic "SPJX"
4       1     version, 1
5       32    SHA-256 of the claim
37      1     number of signatures
38      …     signatures: 1 byte length s, s bytes member, 64 bytes Ed25519 (signing.py, document "joint claim")

This is the consistency round of Bonawitz et al. (CCS 2017) and Bell et al. (CCS 2020). Shown different claims, members
who answer once each still give away a single site's key; tests/crypto/joint/test_attacks_certificate.py does it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.frames import encoded_sender, read_sender
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.frames import DIGEST_BYTES, SIGNATURE_BYTES
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.signing import sign_document, verify_document

_MAGIC: Final = b"SPJX\x01"
_COUNT_AT: Final = len(_MAGIC) + DIGEST_BYTES
_KIND: Final = "joint claim"


def sign_claim(identity: SiteIdentity, claimed: JointClaim) -> bytes:
    """One member's signature. Only `member.Member` calls it, after its ledger has the claim's digest."""
    return sign_document(identity, claimed.to_bytes(), kind=_KIND)


def verify_endorsement(about: JointRound, claimed: JointClaim, member: str, signature: bytes) -> None:
    """Return only if this member of the committee signed exactly this claim; else `FrameRejected`."""
    if member not in about.committee.members:
        raise FrameRejected(f"{member!r}, {about}: not on this round's committee; its signature counts for nothing.")
    verify_document(about.roster[member], claimed.to_bytes(), signature, kind=_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    digest: bytes
    signatures: Mapping[str, bytes] = field(repr=False)

    def check(self, about: JointRound, claimed: JointClaim) -> None:
        """Raise unless a quorum of the committee signed exactly this claim."""
        if self.digest != claimed.digest:
            raise AggregateRejected("certificate", f"{about}: it certifies another claim than this one.")
        valid = [name for name in self.signatures if self._holds(name, claimed, about)]
        if len(valid) < about.committee.quorum:
            raise AggregateRejected(
                "certificate",
                f"{about}: {len(valid)} of {len(about.committee.members)} members signed this claim, "
                f"{about.committee.quorum} are needed; ask the server for the missing signatures.",
            )

    def _holds(self, name: str, claimed: JointClaim, about: JointRound) -> bool:
        try:
            verify_endorsement(about, claimed, name, self.signatures[name])
        except FrameRejected:
            return False
        return True

    def to_bytes(self) -> bytes:
        signed = (_entry(name) + signature for name, signature in self.signatures.items())
        return b"".join((_MAGIC, self.digest, bytes([len(self.signatures)]), *signed))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Certificate":
        """Parse what came over the network; `AggregateRejected` ("format") for anything malformed."""
        if not data.startswith(_MAGIC) or len(data) <= _COUNT_AT:
            raise AggregateRejected("format", "not a certificate of version 1; ask the server to send it again.")
        start, signatures = _COUNT_AT + 1, {}
        for _ in range(data[_COUNT_AT]):
            name_end = start + 1 + (data[start] if start < len(data) else 0)
            signatures[_name(data[start + 1 : name_end])] = data[name_end : name_end + SIGNATURE_BYTES]
            start = name_end + SIGNATURE_BYTES
        if start != len(data):
            raise AggregateRejected("format", "a certificate's signatures and its length disagree.")
        return cls(digest=data[len(_MAGIC) : _COUNT_AT], signatures=signatures)


def _entry(name: str) -> bytes:
    encoded = encoded_sender(name)
    return bytes([len(encoded)]) + encoded


def _name(encoded: bytes) -> str:
    try:
        return read_sender(encoded, "certificate")
    except FrameRejected:
        raise AggregateRejected("format", "a member's name in a certificate is not readable text.") from None
