"""What the server sends back to every site: the encrypted sum and the claim that says of what.

offset  size  field                                    (integers big endian)
0       4     magic "SPAG"
4       1     version, 1
5       65    occasion (occasion.py)
70      4     number of claimed parts; 0 says "unchanged" and has no payload
74      …     parts: 1 byte length s, s bytes sender, 4 bytes weight, 16 bytes nonce
…       …     payload: a chunk is 2N packed 60-bit numbers
end-4   4     CRC-32 of all before: catches damage only
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.claims import Claim, ClaimedPart
from sapefl_crypto.errors import AggregateRejected, FrameRejected
from sapefl_crypto.frames import CHECKSUM_BYTES, NONCE_BYTES, checksum_holds, encoded_sender, read_sender, with_checksum
from sapefl_crypto.occasion import OCCASION_BYTES, Kind, Occasion
from sapefl_crypto.parameters import Parameters

_MAGIC: Final = b"SPAG"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(f">4sB{OCCASION_BYTES}sI")
_PART: Final = struct.Struct(f">I{NONCE_BYTES}s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """An encrypted sum. It proves nothing by itself: `CohortKey.decrypt` checks it against its claim."""

    occasion: Occasion
    claim: Claim
    payload: bytes

    @property
    def weights(self) -> dict[str, int]:
        return self.claim.weights

    @property
    def unchanged(self) -> bool:
        """Nobody's update counted: the global model stays as it is."""
        return not self.claim.parts

    @property
    def digest(self) -> str:
        """For sites to compare: a server that tells two sites different sums shows two digests."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:32]

    def to_bytes(self) -> bytes:
        header = _HEADER.pack(_MAGIC, _VERSION, self.occasion.to_bytes(), len(self.claim))
        return with_checksum(header, *map(part_bytes, self.claim), self.payload)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Aggregate":
        """Parse what came over the network; `AggregateRejected` ("format") for anything malformed."""
        if len(data) < _HEADER.size + CHECKSUM_BYTES:
            raise malformed(f"{len(data)} bytes are too few")
        magic, version, occasion, count = _HEADER.unpack_from(data)
        if magic != _MAGIC or version != _VERSION or not checksum_holds(data):
            raise malformed(f"damaged, or not an aggregate of version {_VERSION}")
        claim, start = read_claim(data, _HEADER.size, len(data) - CHECKSUM_BYTES, count)
        try:
            return cls(occasion=Occasion.from_bytes(occasion), claim=claim, payload=data[start:-CHECKSUM_BYTES])
        except ValueError:
            raise malformed("of an unknown kind") from None

    def check(self, params: Parameters, expected: Occasion) -> None:
        """Raise unless this belongs to the occasion and its claim and sizes are possible under the plan."""
        size = 0 if self.unchanged else expected.chunks(params) * params.sum_chunk_bytes
        names = [part.sender for part in self.claim]
        top = 1 if expected.kind is Kind.HIDDEN else 2**params.weight_bits
        difference = expected.difference(self.occasion)
        for wrong, sentence in (
            (difference is not None, difference),
            (len(self.payload) != size, f"{len(self.payload)} bytes of payload, expected {size}"),
            (len(set(names)) != len(names), "a sender is claimed twice"),
            (len(names) > params.max_clients, f"{len(names)} senders, planned for {params.max_clients}"),
            (any(not 1 <= part.weight <= top for part in self.claim), f"a weight is not between 1 and {top}"),
        ):
            if wrong:
                raise AggregateRejected("format", f"Round {expected.round_index}: {sentence}.")


def part_bytes(part: ClaimedPart) -> bytes:
    name = encoded_sender(part.sender)
    return bytes([len(name)]) + name + _PART.pack(part.weight, part.nonce)


def read_claim(data: bytes, start: int, end: int, count: int) -> tuple[Claim, int]:
    """The parts between ``start`` and ``end``, and where they end; a lying count costs nothing."""
    parts = []
    for _ in range(count):
        weight_at = start + 1 + data[start] if start < end else end
        if weight_at + _PART.size > end:
            raise malformed("its claim runs past its end")
        weight, nonce = _PART.unpack_from(data, weight_at)
        parts.append(ClaimedPart(sender=_sender(data[start + 1 : weight_at]), weight=weight, nonce=nonce))
        start = weight_at + _PART.size
    return Claim(tuple(parts)), start


def _sender(name: bytes) -> str:
    try:
        return read_sender(name, "claim")
    except FrameRejected:
        raise malformed("a sender's name is not readable text") from None


def malformed(what: str) -> AggregateRejected:
    return AggregateRejected("format", f"{what}; ask the server to send it again.")
