"""One site's encrypted vector on the wire, parsed without trust: every length is checked before SEAL sees a byte.

offset  size  field                                    (integers big endian)
0       4     magic "SPFR"
4       1     version, 1
5       65    occasion (occasion.py)
70      16    nonce, fresh for every frame
86      1     length s of the sender's name, 1 to 128
87      8     length p of the payload
95      s     sender, UTF-8
95+s    p     chunks: N packed 60-bit numbers, then the 64-byte seed of the second polynomial
95+s+p  4     CRC-32 of all before: catches damage. Forgery is caught by the site's signature and by the tags.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.errors import FrameRejected, ValueRejected
from sapefl_crypto.occasion import OCCASION_BYTES, Occasion
from sapefl_crypto.parameters import Parameters

NONCE_BYTES: Final = 16
CHECKSUM_BYTES: Final = 4
MAX_SENDER_BYTES: Final = 128
_MAGIC: Final = b"SPFR"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(f">4sB{OCCASION_BYTES}s{NONCE_BYTES}sBQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """An upload. ``nonce`` tells two frames of one sender apart, so a retry never mixes with what it repeats."""

    occasion: Occasion
    nonce: bytes
    sender: str
    payload: bytes

    def to_bytes(self) -> bytes:
        name = encoded_sender(self.sender)
        header = _HEADER.pack(_MAGIC, _VERSION, self.occasion.to_bytes(), self.nonce, len(name), len(self.payload))
        return with_checksum(header, name, self.payload)


def encoded_sender(sender: str) -> bytes:
    name = sender.encode("utf-8", "surrogatepass")
    if not sender.isprintable() or not 1 <= len(name) <= MAX_SENDER_BYTES:
        raise ValueRejected(f"Sender {sender[:40]!r}: a name has 1 to {MAX_SENDER_BYTES} bytes of printable text.")
    return name


def with_checksum(*parts: bytes) -> bytes:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((*parts, checksum.to_bytes(CHECKSUM_BYTES, "big")))


def checksum_holds(data: bytes) -> bool:
    body, checksum = memoryview(data)[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    return zlib.crc32(body) == int.from_bytes(checksum, "big")


def parse_frame(data: bytes, params: Parameters, expected: Occasion) -> Frame:
    """The frame, or `FrameRejected` naming sender and round. Cheap checks come first, the checksum last."""
    frame = _read(data, f"A frame for round {expected.round_index}")
    who = f"Sender {frame.sender!r}, round {expected.round_index}"
    if difference := expected.difference(frame.occasion):
        raise FrameRejected(f"{who}: {difference}; leave it out.")
    size = expected.chunks(params) * params.fresh_chunk_bytes
    if len(frame.payload) != size:
        raise FrameRejected(f"{who}: {len(frame.payload)} bytes of payload, the model implies {size}; leave it out.")
    if not checksum_holds(data):
        raise FrameRejected(f"{who}: damaged on the way; send it again.")
    return frame


def sender_and_nonce(data: bytes) -> tuple[str, bytes]:
    """What a site needs to recognise its own frame in a claim."""
    frame = _read(data, "The site's own frame")
    return frame.sender, frame.nonce


def read_sender(name: bytes, who: str) -> str:
    try:
        sender = name.decode()
        encoded_sender(sender)
    except (UnicodeDecodeError, ValueRejected):
        raise FrameRejected(f"{who}: its sender's name is not readable text; leave it out.") from None
    return sender


def _read(data: bytes, who: str) -> Frame:
    if len(data) < _HEADER.size + CHECKSUM_BYTES:
        raise FrameRejected(f"{who}: {len(data)} bytes are too few to be one; send it again.")
    magic, version, occasion, nonce, name_bytes, payload_bytes = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise FrameRejected(f"{who}: not a frame of version {_VERSION}; use the same package version everywhere.")
    start = _HEADER.size + name_bytes
    if len(data) != start + payload_bytes + CHECKSUM_BYTES:
        raise FrameRejected(f"{who}: its header and its {len(data)} bytes disagree; send it again.")
    sender = read_sender(data[_HEADER.size : start], who)
    try:
        return Frame(
            occasion=Occasion.from_bytes(occasion), nonce=nonce, sender=sender, payload=data[start:-CHECKSUM_BYTES]
        )
    except ValueError:
        raise FrameRejected(f"{who}: sender {sender!r} used an unknown kind of frame; update the package.") from None
