"""One unambiguous encoding of "what this message is about", for associated data, signatures and key derivation.

Plain concatenation would let ("ab", "c") and ("a", "bc") authenticate each other. Every part therefore carries its type
and its length, and the label in front keeps envelopes, signatures and sealed keys in domains of their own.
"""

from sapefl_crypto.errors import ValueRejected

_LIMIT = 2**64


def bind(label: str, *parts: bytes | str | int) -> bytes:
    """Encode ``label`` and ``parts`` injectively: different arguments never give the same bytes."""
    return b"".join(_encode(part) for part in (label, *parts))


def _encode(part: bytes | str | int) -> bytes:
    match part:
        case int():
            return b"i" + _eight_bytes(part)
        case str():
            return b"s" + _with_length(_utf8(part))
        case bytes():
            return b"b" + _with_length(part)


def _with_length(raw: bytes) -> bytes:
    return _eight_bytes(len(raw)) + raw


def _eight_bytes(number: int) -> bytes:
    if not 0 <= number < _LIMIT:
        raise ValueRejected(f"{number} is not a round or length; use a whole number from 0 to 2**64 - 1.")
    return number.to_bytes(8, "big")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueRejected(f"The name {text!r} holds what UTF-8 cannot carry; choose a plain one.") from None
