"""A site's signed word that a round's sum was not what the server claims, for the other sites to read too.

0   4    round, big endian
4   …    a signed frame (sapefl_crypto.keys.signing) around SHA-256 of the sum as this site was given it
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.signing import Roster, sign_frame, verify_signer
from secure_sapefl.protocol.messages import SiteId

LARGEST_REPORT: Final = 512  # bytes
_KIND: Final = "rejected sum"
_ROUND: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Report:
    site: SiteId
    round_index: int
    digest: str


def digest_of(aggregate: bytes) -> str:
    return hashlib.sha256(aggregate).hexdigest()


def write_report(identity: SiteIdentity, study: str, round_index: int, digest: str) -> bytes:
    frame = sign_frame(identity, bytes.fromhex(digest), study=study, round_index=round_index, kind=_KIND)
    return _ROUND.pack(round_index) + frame


def read_report(content: bytes, roster: Roster, study: str) -> Report:
    """The report, if a site of the roster signed it for this study; else `FrameRejected`."""
    if not _ROUND.size <= len(content) <= LARGEST_REPORT:
        raise FrameRejected(f"A report of {len(content)} bytes is none; leave it out.")
    (index,) = _ROUND.unpack_from(content)
    frame = verify_signer(roster, content[_ROUND.size :], study=study, round_index=index, kind=_KIND)
    return Report(frame.signer, index, frame.payload.hex())
