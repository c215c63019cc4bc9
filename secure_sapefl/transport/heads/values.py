"""Values of a message's head, made fit to be used and shown as they are read."""

import base64
import hashlib
from typing import Final

from secure_sapefl.plain_text import is_name, sentence
from secure_sapefl.protocol.messages import SiteId

_LONGEST_NONCE: Final = 64


def behind_the_head(piece: bytes | None, pieces: list[bytes]) -> str | None:
    """Put a piece behind the head, which gets its digest."""
    if piece is None:
        return None
    pieces.append(piece)
    return hashlib.sha256(piece).hexdigest()


def read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise ValueError("not a count")
    return value


def read_total(value: object) -> int:
    """Of many counts."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError("not a total")
    return value


def read_name(value: object) -> SiteId:
    if not is_name(value):
        raise ValueError("not a name")
    return str(value)


def read_nonce(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NONCE:
        raise ValueError("not a nonce")
    return value


def bytes_as_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def read_bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("not bytes")
    return base64.b64decode(value, validate=True)


def read_words(value: object) -> str | None:
    return None if value is None else sentence(value)
