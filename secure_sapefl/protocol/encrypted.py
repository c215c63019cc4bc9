"""A site's half of an encrypted study. No server imports this file."""

from sapefl_crypto import Aggregate, ClaimPolicy, CohortKey
from secure_sapefl.protocol.codec import Vector


class CkksCodec:
    """A site's cohort key at work. ``policy`` holds the site's conditions on every aggregate; any will do without."""

    def __init__(self, key: CohortKey, policy: ClaimPolicy | None = None) -> None:
        self._key, self._policy = key, policy

    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return self._key.encrypt(vector, study=study, round_index=round_index, sender=sender)

    def encrypt_weighted(
        self, vector: Vector, *, score: float, max_score: float, study: str, round_index: int, sender: str
    ) -> bytes:
        return self._key.encrypt_weighted(
            vector, score=score, max_score=max_score, study=study, round_index=round_index, sender=sender
        )

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        parsed = Aggregate.from_bytes(aggregate)
        return self._key.decrypt(parsed, study=study, round_index=round_index, policy=self._policy)

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return self._key.seal(vector, study=study, round_index=round_index, sender=sender)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        return self._key.open(blob, study=study, round_index=round_index, sender=sender)
