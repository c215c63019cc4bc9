"""What a key holder can do, as one interface. encrypted.py does it with a shared key, plaintext.py is its twin without
one. With joint keys (joint/codec.py) an update is encrypted within a round's legs, and only the rest is the same.

The server has no codec. It has an `Adder`, made from public parameters, and imports nothing that knows a key.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class SiteCodec(Protocol):
    """What a site does under any protection."""

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        """The weighted mean in an aggregate, or None where it says that nothing counted."""

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        """A model for peers, which the server only relays."""

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector: ...


class Codec(SiteCodec, Protocol):
    """The same where a key at hand encrypts whatever comes."""

    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        """An update for the server to weigh and add; refused if not finite or outside the study's bound."""

    def encrypt_weighted(
        self, vector: Vector, *, score: float, max_score: float, study: str, round_index: int, sender: str
    ) -> bytes:
        """An update that its own site has weighed, and its score, for the server to add unread."""


class Sum(Protocol):
    @property
    def weights(self) -> dict[str, int]: ...

    def to_bytes(self) -> bytes: ...


class Adder(Protocol):
    """Weighs frames by their scores and adds them up, as they come; where scores are hidden, it only adds."""

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None: ...

    @property
    def weights(self) -> dict[str, int]:
        """Of those in the sum so far."""

    def finish(self) -> Sum: ...
