"""What the server says it added up, and the sum itself; a part of a tree's sum looks the same as the whole.

Claim                                                  (integers big endian)
0       4     magic "SPJC"
4       1     version, 1
5       100   occasion (occasion.py)
105     4     number of parts; 0 says "unchanged"
109     …     parts: 1 byte length s, s bytes sender, 4 bytes weight, 16 bytes nonce

Aggregate
0       4     magic "SPJG"
4       1     version, 1
5       4     c, length of the claim
9       c     claim
9+c     …     payload: a chunk is N packed 60-bit numbers; none where the claim is empty
end-4   4     CRC-32 of all before: catches damage only
"""

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Final

from sapefl_crypto.aggregate import malformed, part_bytes, read_claim
from sapefl_crypto.claims import Claim
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.frames import CHECKSUM_BYTES, checksum_holds, with_checksum
from sapefl_crypto.joint.occasion import OCCASION_BYTES, JointOccasion, JointRound

_VERSION: Final = 1
_CLAIM: Final = struct.Struct(f">4sB{OCCASION_BYTES}sI")
_CLAIM_MAGIC: Final = b"SPJC"
_AGGREGATE: Final = struct.Struct(">4sBI")
_AGGREGATE_MAGIC: Final = b"SPJG"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointClaim:
    """Who is in a sum, with which weight and which frame: the one statement of a round that members sign."""

    occasion: JointOccasion
    claim: Claim

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.to_bytes()).digest()

    def to_bytes(self) -> bytes:
        header = _CLAIM.pack(_CLAIM_MAGIC, _VERSION, self.occasion.to_bytes(), len(self.claim))
        return b"".join((header, *map(part_bytes, self.claim)))

    @classmethod
    def from_bytes(cls, data: bytes) -> "JointClaim":
        if len(data) < _CLAIM.size or data[:4] != _CLAIM_MAGIC or data[4] != _VERSION:
            raise malformed(f"not a claim of version {_VERSION}")
        _, _, occasion, count = _CLAIM.unpack_from(data)
        claim, end = read_claim(data, _CLAIM.size, len(data), count)
        if end != len(data):
            raise malformed("a claim is followed by what does not belong to it")
        return cls(occasion=JointOccasion.from_bytes(occasion), claim=claim)

    def check(self, about: JointRound) -> None:
        """Raise unless this belongs to the round and could be said of it at all."""
        names, top = [part.sender for part in self.claim], 2**about.plan.weight_bits
        difference = about.occasion.difference(self.occasion)
        for wrong, sentence in (
            (difference is not None, difference),
            (len(set(names)) < len(names), "a sender is counted twice"),
            (len(names) > about.plan.max_clients, f"{len(names)} senders, planned for {about.plan.max_clients}"),
            (any(not 1 <= part.weight <= top for part in self.claim), f"a weight is not between 1 and {top}"),
        ):
            if wrong:
                raise AggregateRejected("format", f"{about}: {sentence}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAggregate:
    """An encrypted sum of frames. It proves nothing by itself: `opening.open_mean` checks it against its claim."""

    claimed: JointClaim
    payload: bytes = field(repr=False)

    @property
    def unchanged(self) -> bool:
        return not self.claimed.claim.parts

    @property
    def weights(self) -> dict[str, int]:
        return self.claimed.claim.weights

    def to_bytes(self) -> bytes:
        claim = self.claimed.to_bytes()
        return with_checksum(_AGGREGATE.pack(_AGGREGATE_MAGIC, _VERSION, len(claim)), claim, self.payload)

    @classmethod
    def from_bytes(cls, data: bytes) -> "JointAggregate":
        """Parse what came over the network; `AggregateRejected` ("format") for anything malformed."""
        if len(data) < _AGGREGATE.size + CHECKSUM_BYTES:
            raise malformed(f"{len(data)} bytes are too few")
        magic, version, size = _AGGREGATE.unpack_from(data)
        start = _AGGREGATE.size + size
        if magic != _AGGREGATE_MAGIC or version != _VERSION or not checksum_holds(data):
            raise malformed(f"damaged, or not a joint aggregate of version {_VERSION}")
        claimed = JointClaim.from_bytes(data[_AGGREGATE.size : min(start, len(data) - CHECKSUM_BYTES)])
        return cls(claimed=claimed, payload=data[start:-CHECKSUM_BYTES])

    def check(self, about: JointRound) -> None:
        self.claimed.check(about)
        size = 0 if self.unchanged else about.chunks * about.plan.chunk_bytes
        if len(self.payload) != size:
            raise AggregateRejected("format", f"{about}: {len(self.payload)} bytes of sum, the model implies {size}.")
