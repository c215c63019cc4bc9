"""A member's answer to a certified claim, sealed for the sites and signed by the member.

offset  size  field                                    (integers big endian)
0       4     magic "SPJA"
4       1     version, 1
5       100   occasion (occasion.py)
105     32    SHA-256 of the claim
137     1     s, length of the member's name
138     s     member, UTF-8
138+s   …     for many readers (sealing.py): packed numbers, N + 2 of Σ w · share, then 2 for every part of the claim
end-64  64    Ed25519 signature of all before (signing.py, document "joint answer")
"""

import struct
from dataclasses import dataclass, field
from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.frames import encoded_sender, read_sender
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.field import PRIME, PRIME_BITS
from sapefl_crypto.joint.frames import DIGEST_BYTES, SIGNATURE_BYTES
from sapefl_crypto.joint.occasion import OCCASION_BYTES, JointOccasion, JointRound
from sapefl_crypto.joint.round_key import CHECKS, SHARED_NUMBERS
from sapefl_crypto.joint.sealing import Readers, Unsealer, open_from_many, seal_for_many
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.signing import sign_document, verify_document
from sapefl_crypto.packing import pack, unpack
from sapefl_crypto.seal import Coefficients

_MAGIC: Final = b"SPJA"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(f">4sB{OCCASION_BYTES}s{DIGEST_BYTES}sB")
_KIND: Final = "joint answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One member's share of the sum of keys, and its part in checking every dealer's shares."""

    member: str
    total: Coefficients = field(repr=False)
    checks: Coefficients = field(repr=False)


def sealed_answer(
    about: JointRound, claimed: JointClaim, identity: SiteIdentity, readers: Readers, numbers: Coefficients
) -> bytes:
    name = encoded_sender(identity.public.name)
    header = _HEADER.pack(_MAGIC, _VERSION, about.occasion.to_bytes(), claimed.digest, len(name)) + name
    message = header + seal_for_many(readers, pack(numbers), context=_context(header))
    return message + sign_document(identity, message, kind=_KIND)


def read_answer(data: bytes, about: JointRound, claimed: JointClaim, *, sealing: Unsealer, reader: str) -> Answer:
    """The answer, if a member of this committee signed and sealed it for this claim; else `FrameRejected`."""
    header, member = verified_header(data, about, claimed)
    plain = open_from_many(sealing, reader, data[len(header) : -SIGNATURE_BYTES], context=_context(header))
    count = SHARED_NUMBERS + CHECKS * len(claimed.claim)
    if len(plain) != count * PRIME_BITS // 8:
        raise FrameRejected(f"Member {member!r}, {about}: its answer has the wrong length; leave it out.")
    numbers = unpack(plain)
    if int(numbers.max()) >= PRIME:
        raise FrameRejected(f"Member {member!r}, {about}: its answer holds what its field does not; leave it out.")
    return Answer(member=member, total=numbers[:SHARED_NUMBERS], checks=numbers[SHARED_NUMBERS:].reshape(-1, CHECKS))


def verified_header(data: bytes, about: JointRound, claimed: JointClaim) -> tuple[bytes, str]:
    """The part in the open and the member, if that member signed this for this claim. Needs no key."""
    header, member = _read_header(data, about, claimed)
    verify_document(about.roster[member], data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:], kind=_KIND)
    return header, member


def _read_header(data: bytes, about: JointRound, claimed: JointClaim) -> tuple[bytes, str]:
    who = f"An answer for {about}"
    if len(data) < _HEADER.size + SIGNATURE_BYTES or data[:4] != _MAGIC or data[4] != _VERSION:
        raise FrameRejected(f"{who}: not one of version {_VERSION}; use the same package version everywhere.")
    _, _, occasion, answered, name_bytes = _HEADER.unpack_from(data)
    member = read_sender(data[_HEADER.size : _HEADER.size + name_bytes], who)
    difference = about.occasion.difference(JointOccasion.from_bytes(occasion))
    for wrong, sentence in (
        (difference is not None, difference),
        (answered != claimed.digest, "made for another claim"),
        (member not in about.committee.members, "not from a member of this round's committee"),
    ):
        if wrong:
            raise FrameRejected(f"{who} from {member!r}: {sentence}; leave it out.")
    return data[: _HEADER.size + name_bytes], member


def _context(header: bytes) -> bytes:
    return bind("sapefl joint answer 1", header)
