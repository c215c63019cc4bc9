"""What a key holder can do, as one interface: the encrypted study's codec here, its twin without a key in plaintext.py.

The server has no codec. It has an `Adder`, made from public parameters.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sapefl_crypto import Aggregate, CohortKey

Vector = NDArray[np.float32]


class Codec(Protocol):
    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        """An update for the server to weigh and add; refused if not finite or outside the study's bound."""

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        """The weighted mean in an aggregate, or None where it says that nothing counted."""

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        """A model for peers, which the server only relays."""

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector: ...


class Sum(Protocol):
    @property
    def weights(self) -> dict[str, int]: ...

    def to_bytes(self) -> bytes: ...


class Adder(Protocol):
    """Weighs frames by their scores and adds them up, as they come."""

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None: ...

    def finish(self) -> Sum: ...


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
