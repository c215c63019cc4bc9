"""A site's half of an encrypted study. No server imports this file."""

from sapefl_crypto import Aggregate, CohortKey
from secure_sapefl.protocol.codec import Vector


class CkksCodec:
    """A site's cohort key at work."""

    def __init__(self, key: CohortKey) -> None:
        self._key = key

    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return self._key.encrypt(vector, study=study, round_index=round_index, sender=sender)

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        parsed = Aggregate.from_bytes(aggregate)
        return None if parsed.unchanged else self._key.decrypt(parsed, study=study, round_index=round_index)

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return self._key.seal(vector, study=study, round_index=round_index, sender=sender)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        return self._key.open(blob, study=study, round_index=round_index, sender=sender)
