"""The encrypted path's twin without encryption, for research speed. Nothing here protects anything.

Weights are quantised as `sapefl_crypto.Aggregator` quantises them, updates are rounded to the same grid and held to the
same bound. Under an exact plan (`Parameters.exact`, `Parameters.joint`) a plaintext run and an encrypted one give the
same bits.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sapefl_crypto import quantise_score
from sapefl_crypto.claims import checked_share
from sapefl_crypto.errors import FrameRejected, ValueRejected
from sapefl_crypto.exact_plan import ExactPlan
from sapefl_crypto.hidden import hidden_mean, weighed
from sapefl_crypto.occasion import Kind
from sapefl_crypto.packing import checked

Vector = NDArray[np.float32]
Values = NDArray[np.floating[Any]]
_AT_ONCE: Final = 1 << 15
_HEADER = struct.Struct(">4sIHHI")


@dataclass(frozen=True, slots=True)
class _Form:
    """How the numbers of a frame are written. Weighed ones lie between those that float32 can hold."""

    magic: bytes
    dtype: np.dtype[Any]


_OPEN: Final = _Form(b"SPLN", np.dtype("<f4"))
_WEIGHED: Final = _Form(b"SPLW", np.dtype("<f8"))


@dataclass(frozen=True, slots=True)
class PlaintextCodec:
    """Says what it does: whoever holds these bytes reads them."""

    params: ExactPlan

    def encrypt(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        bound = self.params.max_abs_value
        if not within(vector, bound):
            raise ValueRejected(
                f"Site {sender!r}, round {round_index}: an update must be finite and within ±{bound:g}."
            )
        on_grid = np.empty(len(vector), dtype=np.float32)
        for part in _parts(len(vector)):
            on_grid[part] = self.params.on_grid(vector[part].astype(np.float64))
        return pack(on_grid, study=study, round_index=round_index, sender=sender)

    def encrypt_weighted(
        self, vector: Vector, *, score: float, max_score: float, study: str, round_index: int, sender: str
    ) -> bytes:
        numbers = weighed(checked(vector, self.params), checked_share(score, max_score), self.params)
        return pack(numbers, study=study, round_index=round_index, sender=sender, form=_WEIGHED)

    def decrypt(self, aggregate: bytes, *, study: str, round_index: int) -> Vector | None:
        _, mean = unpack(aggregate, study=study, round_index=round_index)
        return mean.copy() if len(mean) else None

    def seal(self, vector: Vector, *, study: str, round_index: int, sender: str) -> bytes:
        return pack(vector, study=study, round_index=round_index, sender=sender)

    def open(self, blob: bytes, *, study: str, round_index: int, sender: str) -> Vector:
        owner, vector = unpack(blob, study=study, round_index=round_index)
        if owner != sender:
            raise FrameRejected(f"Site {sender!r}, round {round_index}: the model is of {owner!r}.")
        return vector.copy()


@dataclass(frozen=True, slots=True)
class PlaintextSum:
    """A weighted mean for anybody to read; empty where nothing counted."""

    study: str
    round_index: int
    mean: Vector
    weights: dict[str, int]

    def to_bytes(self) -> bytes:
        return pack(self.mean, study=self.study, round_index=self.round_index, sender="server")


class _Round:
    """What both kinds of adder share: whose frames are in, and what they sum to."""

    def __init__(self, params: ExactPlan, study: str, round_index: int, length: int) -> None:
        self._params, self._study, self._round = params, study, round_index
        self._sum = np.zeros(length, dtype=np.float64)
        self._weights: dict[str, int] = {}

    def _add(self, vector: Values, weight: int = 1) -> None:
        for part in _parts(len(vector)):
            self._sum[part] += weight * vector[part].astype(np.float64)

    def _read(self, frame: bytes, sender: str | None, form: _Form) -> tuple[str, Values]:
        owner, vector = unpack(frame, study=self._study, round_index=self._round, form=form)
        if sender not in (None, owner):
            raise self._rejected(owner, f"it came over the connection of {sender!r}; leave it out.")
        if owner in self._weights:
            raise self._rejected(owner, "already counted; a sender counts once a round.")
        if len(vector) != len(self._sum):
            raise self._rejected(owner, f"{len(vector)} values, the study's model has {len(self._sum)}.")
        if not within(vector, self._params.max_abs_value):
            raise self._rejected(owner, f"an update must be within ±{self._params.max_abs_value:g}.")
        return owner, vector

    @property
    def weights(self) -> dict[str, int]:
        return {sender: weight for sender, weight in self._weights.items() if weight > 0}

    def _rejected(self, owner: str, sentence: str) -> FrameRejected:
        return FrameRejected(f"Sender {owner!r}, round {self._round}: {sentence}")

    def _finished(self, mean: NDArray[np.floating[Any]]) -> PlaintextSum:
        return PlaintextSum(self._study, self._round, mean.astype(np.float32), self.weights)


class PlaintextAdder(_Round):
    """`sapefl_crypto.Aggregator` with numbers instead of ciphertexts."""

    def __init__(self, params: ExactPlan, *, study: str, round_index: int, length: int, max_score: float) -> None:
        super().__init__(params, study, round_index, length)
        self._max_score = max_score

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:
        owner, vector = self._read(frame, sender, _OPEN)
        try:
            weight = quantise_score(score, self._max_score, self._params.weight_bits)
        except ValueRejected as error:
            raise self._rejected(owner, str(error)) from None
        self._weights[owner] = weight
        self._add(vector, weight)

    def finish(self) -> PlaintextSum:
        total = sum(self._weights.values())
        return self._finished(self._sum / total if total else np.empty(0))


class PlaintextHiddenAdder(_Round):
    """`sapefl_crypto.HiddenAggregator` with numbers instead of ciphertexts: here, they are hidden from nobody."""

    def __init__(self, params: ExactPlan, *, study: str, round_index: int, length: int) -> None:
        super().__init__(params, study, round_index, Kind.HIDDEN.places(length))

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:  # noqa: ARG002 - it has none
        owner, numbers = self._read(frame, sender, _WEIGHED)
        self._weights[owner] = 1
        self._add(numbers)

    def finish(self) -> PlaintextSum:
        found = hidden_mean(self._sum, len(self._weights), self._params) if self._weights else None
        return self._finished(np.empty(0) if found is None else found.vector)


def _parts(length: int) -> Iterator[slice]:
    """A large model's numbers, so many at a time that what is made of them on the way stays in the processor's cache:
    fresh memory costs more than the arithmetic."""
    return (slice(start, start + _AT_ONCE) for start in range(0, length, _AT_ONCE))


def within(vector: NDArray[np.floating[Any]], bound: float) -> bool:
    """Finite and inside ±bound; NaN is inside nothing."""
    return bool(-bound <= vector.min(initial=0) and vector.max(initial=0) <= bound)


def pack(vector: NDArray[np.floating[Any]], *, study: str, round_index: int, sender: str, form: _Form = _OPEN) -> bytes:
    names = study.encode(), sender.encode()
    header = _HEADER.pack(form.magic, round_index, len(names[0]), len(names[1]), len(vector))
    return b"".join((header, *names, np.ascontiguousarray(vector, dtype=form.dtype).data))


def unpack(frame: bytes, *, study: str, round_index: int, form: _Form = _OPEN) -> tuple[str, NDArray[Any]]:
    """Sender and vector of a frame of this study and round, every length checked first; not to be written into."""
    if len(frame) < _HEADER.size:
        raise FrameRejected(f"Round {round_index}: a frame of {len(frame)} bytes is too short.")
    magic, index, study_bytes, sender_bytes, length = _HEADER.unpack_from(frame)
    body = _HEADER.size + study_bytes + sender_bytes
    if magic != form.magic or len(frame) != body + form.dtype.itemsize * length:
        raise FrameRejected(f"Round {round_index}: not a plaintext frame of this kind, or its lengths do not add up.")
    try:
        sender = frame[_HEADER.size + study_bytes : body].decode()
    except UnicodeDecodeError:
        raise FrameRejected(f"Round {round_index}: a sender's name is not text.") from None
    if frame[_HEADER.size : _HEADER.size + study_bytes] != study.encode() or index != round_index:
        raise FrameRejected(f"Site {sender!r}, round {round_index}: a frame of another study or round ({index}).")
    vector = np.frombuffer(frame, dtype=form.dtype, offset=body).astype(form.dtype.newbyteorder("="), copy=False)
    if not np.isfinite(vector).all():
        raise FrameRejected(f"Site {sender!r}, round {round_index}: the vector holds NaN or infinity.")
    return sender, vector
