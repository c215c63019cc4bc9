"""Signed parts: one small signed head and, behind it, the large pieces it names by their SHA-256.

    part 0     round, 4 bytes big endian; then a signed frame (sapefl_crypto.keys.signing) around the head, JSON
    part 1..   the pieces, in the order in which the head names them

The head carries the version of the wire format. It is read before anything else of the head, so that two releases that
do not understand each other say so.
"""

import hashlib
import json
import struct
from typing import Any, Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity
from sapefl_crypto.keys.signing import Roster, sign_frame, verify_signer
from secure_sapefl.plain_text import sentence
from secure_sapefl.storage.parts import MOST_PARTS, Parts

WIRE_VERSION: Final = 2  # 1 was that of release 0.1.0, whose heads do not say it
_ROUND: Final = struct.Struct(">I")


def parts_digest(parts: Parts) -> str:
    """Names what left, or came, in a ledger."""
    outer = hashlib.sha256()
    for part in parts:
        outer.update(hashlib.sha256(part).digest())
    return outer.hexdigest()


def signed(head: dict[str, Any], pieces: list[bytes], identity: SiteIdentity, study: str, kind: str) -> Parts:
    index = head["round"]
    digests = [hashlib.sha256(piece).hexdigest() for piece in pieces]
    payload = json.dumps({"version": WIRE_VERSION, **head, "pieces": digests}).encode()
    frame = sign_frame(identity, payload, study=study, round_index=index, kind=kind)
    return (_ROUND.pack(index) + frame, *pieces)


def verified(
    parts: Parts, roster: Roster, study: str, kind: str, largest_head: int
) -> tuple[str, dict[str, Any], Parts]:
    """Signer, head and pieces of a message, every digest checked before anybody looks inside a piece."""
    if not 1 <= len(parts) <= MOST_PARTS or not _ROUND.size <= len(parts[0]) <= largest_head:
        size = len(parts[0]) if parts else 0
        raise FrameRejected(
            f"A message, {kind}: {len(parts)} parts with a head of {size} bytes are no message; leave it out."
        )
    (index,) = _ROUND.unpack_from(parts[0])
    frame = verify_signer(roster, parts[0][_ROUND.size :], study=study, round_index=index, kind=kind)
    with Strict(parts):
        head = json.loads(frame.payload)
        _require_version(head.get("version", 1), frame.signer, index)
        if head["round"] != index or head["pieces"] != [hashlib.sha256(piece).hexdigest() for piece in parts[1:]]:
            raise FrameRejected(
                f"Site {frame.signer!r}, round {index}: its pieces are not the ones it signed; leave the message out."
            )
    return frame.signer, head, parts[1:]


def _require_version(found: object, signer: str, index: int) -> None:
    if found != WIRE_VERSION:
        raise FrameRejected(
            f"{signer!r}, round {index}: a message of wire version {sentence(found, 20)}, this release speaks version "
            f"{WIRE_VERSION}. Install the same release of secure-sapefl at the coordinator and at every site."
        )


class Strict:
    """Turns whatever a malformed head makes Python say into one `FrameRejected`."""

    def __init__(self, parts: Parts) -> None:
        self._size = sum(map(len, parts))

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (ValueError, LookupError, TypeError, AttributeError, RuntimeError, StopIteration)):
            raise FrameRejected(
                f"A message of {self._size} bytes is malformed; use the same package version at both ends."
            ) from None
