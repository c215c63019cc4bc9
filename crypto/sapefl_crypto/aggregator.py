"""The server's side: weigh and add what it cannot read. Nothing here takes, makes or needs a key.

Each frame is folded into one running sum the moment it arrives, so memory is one sum and one frame however many sites
take part. Whoever does not arrive is simply not in the claim.
"""

from typing import Any

from sapefl_crypto.aggregate import Aggregate
from sapefl_crypto.claims import Claim, ClaimedPart, quantise_score
from sapefl_crypto.errors import FrameRejected, ValueRejected
from sapefl_crypto.frames import Frame, parse_frame
from sapefl_crypto.occasion import Kind, Occasion
from sapefl_crypto.packing import pack, pieces, unpack
from sapefl_crypto.parameters import Parameters
from sapefl_crypto.seal import SEED_BYTES, Coefficients, prime, ring_of

FreshChunk = tuple[Coefficients, bytes]
"""One polynomial of a fresh ciphertext and the seed of the other."""


class RunningSum:
    """Σ weight · ciphertext, chunk by chunk."""

    def __init__(self, params: Parameters) -> None:
        self._params = params
        self._ring = ring_of(params.ring_degree, params.scale)
        self._chunks: list[Any] = []
        self._spare: Any | None = None

    def fold(self, payload: bytes, weight: int) -> None:
        """All that could be wrong with a payload is found before any of it counts: a bad frame leaves no trace. Then
        one chunk after the other is loaded, weighed and added, while it is in the processor's cache."""
        chunks, factor = read_chunks(self._params, payload), self._ring.weight(weight)
        if self._chunks:
            for total, chunk in zip(self._chunks, chunks, strict=True):
                self._spare = self._weighed(chunk, factor, self._spare)
                self._ring.add(total, self._spare)
        else:
            self._chunks = [self._weighed(chunk, factor) for chunk in chunks]

    def _weighed(self, chunk: FreshChunk, factor: Any, into: Any | None = None) -> Any:
        cipher = self._ring.load_fresh(*chunk, into)
        self._ring.weigh(cipher, factor)
        return cipher

    def payload(self) -> bytes:
        return b"".join(pack(self._ring.save_sum(chunk)) for chunk in self._chunks)


class _Round:
    """What both kinds of aggregator share: the claim so far and the sum so far."""

    def __init__(self, params: Parameters, occasion: Occasion) -> None:
        self._params = params
        self._occasion = occasion
        self._sum = RunningSum(params)
        self._parts: dict[str, ClaimedPart] = {}
        self._seen: set[str] = set()

    @property
    def weights(self) -> dict[str, int]:
        """Of those in the sum so far."""
        return {part.sender: part.weight for part in self._parts.values()}

    def finish(self) -> Aggregate:
        """The sum of all that came. With nothing of positive weight it says ``unchanged``."""
        return Aggregate(occasion=self._occasion, claim=Claim(tuple(self._parts.values())), payload=self._sum.payload())

    def _parse(self, data: bytes, sender: str | None) -> Frame:
        frame = parse_frame(data, self._params, self._occasion)
        if sender is not None and frame.sender != sender:
            raise self._rejected(frame, f"it came over the connection of {sender!r}; leave it out.")
        if frame.sender in self._seen:
            raise self._rejected(frame, "already counted; a sender counts once a round.")
        if len(self._seen) >= self._params.max_clients:
            raise self._rejected(frame, f"the plan holds {self._params.max_clients} sites; plan for more.")
        return frame

    def _count(self, frame: Frame, weight: int) -> None:
        """A zero weight is left out of the sum: it would make SEAL's ciphertext transparent."""
        if weight:
            try:
                self._sum.fold(frame.payload, weight)
            except (ValueRejected, RuntimeError, ValueError) as error:
                raise self._rejected(frame, f"not a ciphertext ({error}); leave it out.") from None
            self._parts[frame.sender] = ClaimedPart(sender=frame.sender, weight=weight, nonce=frame.nonce)
        self._seen.add(frame.sender)

    def _rejected(self, frame: Frame, sentence: str) -> FrameRejected:
        return FrameRejected(f"Sender {frame.sender!r}, round {self._occasion.round_index}: {sentence}")


class Aggregator(_Round):
    """Weighs each frame by its score against the public ``max_score`` and adds it (Eq. 12's numerator, encrypted)."""

    def __init__(self, params: Parameters, *, study: str, round_index: int, length: int, max_score: float) -> None:
        quantise_score(0.0, max_score, params.weight_bits)
        occasion = Occasion.bound_to(params, Kind.WEIGHTED, study=study, round_index=round_index, length=length)
        super().__init__(params, occasion)
        self._max_score = max_score

    def add(self, frame: bytes, score: float, *, sender: str | None = None) -> None:
        """Fold in one site's frame. ``sender``, where the transport knows who is speaking, must match the frame."""
        parsed = self._parse(frame, sender)
        try:
            weight = quantise_score(score, self._max_score, self._params.weight_bits)
        except ValueRejected as error:
            raise self._rejected(parsed, str(error)) from None
        self._count(parsed, weight)


class HiddenAggregator(_Round):
    """Adds frames whose sites have weighed them already; the server learns no score and can bound none."""

    def __init__(self, params: Parameters, *, study: str, round_index: int, length: int) -> None:
        occasion = Occasion.bound_to(params, Kind.HIDDEN, study=study, round_index=round_index, length=length)
        super().__init__(params, occasion)

    def add(self, frame: bytes, score: float = 0.0, *, sender: str | None = None) -> None:  # noqa: ARG002 - it has none
        self._count(self._parse(frame, sender), 1)


def read_chunks(params: Parameters, payload: bytes) -> list[FreshChunk]:
    """The fresh ciphertexts of a frame's payload, not yet SEAL's; every number is checked against the prime."""
    parts = pieces(payload, params.fresh_chunk_bytes)
    top = prime(params.ring_degree)
    return [(unpack(piece[:-SEED_BYTES], below=top), bytes(piece[-SEED_BYTES:])) for piece in parts]
