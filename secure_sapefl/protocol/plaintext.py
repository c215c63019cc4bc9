"""The encrypted path's twin without encryption, for research speed. Nothing here protects anything.

Weights are quantised as `sapefl_crypto.Aggregator` quantises them, updates are rounded to the same grid and held to the
same bound. Under an exact plan (`Parameters.exact`) a plaintext run and an encrypted one give the same bits.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapefl_crypto import Parameters, quantise_score
from sapefl_crypto.errors import FrameRejected, ValueRejected

Vector = NDArray[np.float32]
_HEADER = struct.Struct(">4sIHHI")
_MAGIC = b"SPLN"


@dataclass(frozen=True, slots=True)
class PlaintextCodec:
    """Says what it does: whoever holds these bytes reads them."""

    params: Parameters

    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        bound = self.params.max_abs_value
        if not within(vector, bound):
            raise ValueRejected(
                f"Site {sender!r}, round {round_index}: an update must be finite and within ±{bound:g}."
            )
        on_grid = self.params.on_grid(vector.astype(np.float64)).astype(np.float32)
        return pack(on_grid, study=study, round_index=round_index, sender=sender)

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        _, mean = unpack(aggregate, study=study, round_index=round_index)
        return mean if len(mean) else None

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return pack(vector, study=study, round_index=round_index, sender=sender)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        owner, vector = unpack(blob, study=study, round_index=round_index)
        if owner != sender:
            raise FrameRejected(f"Site {sender!r}, round {round_index}: the model is of {owner!r}.")
        return vector


@dataclass(frozen=True, slots=True)
class PlaintextSum:
    """A weighted mean for anybody to read; empty where nothing counted."""

    study: str
    round_index: int
    mean: Vector
    weights: dict[str, int]

    def to_bytes(self) -> bytes:
        return pack(self.mean, study=self.study, round_index=self.round_index, sender="server")


class PlaintextAdder:
    """`sapefl_crypto.Aggregator` with numbers instead of ciphertexts."""

    def __init__(self, params: Parameters, *, study: str, round_index: int, length: int, max_score: float) -> None:
        self._params, self._study, self._round, self._max_score = params, study, round_index, max_score
        self._sum = np.zeros(length, dtype=np.float64)
        self._weights: dict[str, int] = {}

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:
        owner, vector = unpack(frame, study=self._study, round_index=self._round)
        who = f"Sender {owner!r}, round {self._round}"
        if sender not in (None, owner):
            raise FrameRejected(f"{who}: it came over the connection of {sender!r}; leave it out.")
        if owner in self._weights:
            raise FrameRejected(f"{who}: already counted; a sender counts once a round.")
        if len(vector) != len(self._sum):
            raise FrameRejected(f"{who}: {len(vector)} values, the study's model has {len(self._sum)}.")
        if not within(vector, self._params.max_abs_value):
            raise FrameRejected(f"{who}: an update must be within ±{self._params.max_abs_value:g}.")
        try:
            weight = quantise_score(score, self._max_score, self._params.weight_bits)
        except ValueRejected as error:
            raise FrameRejected(f"{who}: {error}") from None
        self._weights[owner] = weight
        self._sum += weight * vector.astype(np.float64)

    @property
    def weights(self) -> dict[str, int]:
        return {sender: weight for sender, weight in self._weights.items() if weight > 0}

    def finish(self) -> PlaintextSum:
        weights = self.weights
        mean = self._sum / sum(weights.values()) if weights else np.empty(0)
        return PlaintextSum(self._study, self._round, mean.astype(np.float32), weights)


def within(vector: Vector, bound: float) -> bool:
    """Finite and inside ±bound; NaN is inside nothing."""
    return bool(np.abs(vector).max(initial=0) <= bound)


def pack(vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
    names = study.encode(), sender.encode()
    header = _HEADER.pack(_MAGIC, round_index, len(names[0]), len(names[1]), len(vector))
    return b"".join((header, *names, np.ascontiguousarray(vector, dtype="<f4").tobytes()))


def unpack(frame: bytes, *, study: str, round_index: int) -> tuple[str, Vector]:
    """Sender and vector of a frame of this study and round, every length checked first."""
    if len(frame) < _HEADER.size:
        raise FrameRejected(f"Round {round_index}: a frame of {len(frame)} bytes is too short.")
    magic, index, study_bytes, sender_bytes, length = _HEADER.unpack_from(frame)
    body = _HEADER.size + study_bytes + sender_bytes
    if magic != _MAGIC or len(frame) != body + 4 * length:
        raise FrameRejected(f"Round {round_index}: not a plaintext frame, or its lengths do not add up.")
    try:
        sender = frame[_HEADER.size + study_bytes : body].decode()
    except UnicodeDecodeError:
        raise FrameRejected(f"Round {round_index}: a sender's name is not text.") from None
    if frame[_HEADER.size : _HEADER.size + study_bytes] != study.encode() or index != round_index:
        raise FrameRejected(f"Site {sender!r}, round {round_index}: a frame of another study or round ({index}).")
    vector = np.frombuffer(frame, dtype="<f4", offset=body).astype(np.float32)
    if not np.isfinite(vector).all():
        raise FrameRejected(f"Site {sender!r}, round {round_index}: the vector holds NaN or infinity.")
    return sender, vector
