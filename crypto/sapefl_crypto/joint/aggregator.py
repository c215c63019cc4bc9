"""The server's side of a joint round: weigh and add polynomials it cannot read. No key, and no SEAL either.

Numbers modulo q with whole weights add up in two machine words each, so a frame is folded in by a few passes of numpy,
and memory is one sum and one frame however many sites take part. Sums are linear: regional servers add up their own
sites, and what they send on adds up to the same bytes as one server would have made (`add_partial`).
"""

from collections.abc import Collection
from typing import Final

import numpy as np
import numpy.typing as npt

from sapefl_crypto.claims import Claim, ClaimedPart
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.aggregate import JointAggregate, JointClaim
from sapefl_crypto.joint.field import RING_DEGREE, reduced
from sapefl_crypto.joint.frames import parse_frame
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.packing import pack
from sapefl_crypto.seal import Coefficients

_HALF: Final = RING_DEGREE // 2
_PLANES: Final = (8 * _HALF, 12 * _HALF, 14 * _HALF)  # where packed numbers change from 8 to 4, 2 and 1 bytes
_FIRST_SHIFT: Final = 30  # how the first half of a chunk's numbers is cut into two limbs,
_SECOND_SHIFT: Final = 36  # and the second half, as `packing.pack` leaves them
_ROWS: Final = 8  # chunks at a time: what they need stays in the processor's cache


class LimbSum:
    """Σ weight · chunk as two uint64 limbs a number, straight from packed bytes. Room for Σ weight up to 2^27."""

    def __init__(self, chunks: int) -> None:
        self._low = np.zeros((chunks, RING_DEGREE), np.uint64)
        self._high = np.zeros((chunks, RING_DEGREE), np.uint64)

    def fold(self, payload: bytes | memoryview, weight: int) -> None:
        packed = np.frombuffer(payload, np.uint8).reshape(len(self._low), -1)
        for start in range(0, len(packed), _ROWS):
            rows = slice(start, start + _ROWS)
            self._fold_rows(packed[rows], self._low[rows], self._high[rows], np.uint64(weight))

    def _fold_rows(
        self, packed: npt.NDArray[np.uint8], low: Coefficients, high: Coefficients, weight: np.uint64
    ) -> None:
        words, fours, twos, ones = np.split(packed, _PLANES, axis=1)
        word = words.view("<u8")
        _add(low[:, :_HALF], word & np.uint64(2**_FIRST_SHIFT - 1), weight)
        upper = word >> np.uint64(_FIRST_SHIFT)
        last_bits = upper >> np.uint64(30)
        upper &= np.uint64(2**30 - 1)
        _add(high[:, :_HALF], upper, weight)
        lower = np.left_shift(fours.view("<u4"), 4, dtype=np.uint64)
        lower |= last_bits
        _add(low[:, _HALF:], lower, weight)
        rest = np.left_shift(ones, 16, dtype=np.uint32)
        rest |= twos.view("<u2")
        _add(high[:, _HALF:], rest.astype(np.uint64), weight)

    def payload(self) -> bytes:
        halves = ((slice(0, _HALF), _FIRST_SHIFT), (slice(_HALF, None), _SECOND_SHIFT))
        return b"".join(
            pack(np.concatenate([reduced(high[half], low[half], shift) for half, shift in halves]))
            for low, high in zip(self._low, self._high, strict=True)
        )


def _add(total: Coefficients, numbers: Coefficients, weight: np.uint64) -> None:
    numbers *= weight
    total += numbers


class JointAggregator:
    """Folds in one signed frame after the other. Whoever does not arrive is simply not in the claim."""

    def __init__(self, about: JointRound) -> None:
        self._about = about
        self._sum = LimbSum(about.chunks)
        self._parts: dict[str, ClaimedPart] = {}
        self._seen: set[str] = set()

    def add(self, frame: bytes, *, sender: str | None = None) -> None:
        """Fold in one site's frame with the weight it signed; ``sender``, where the transport knows it, must match."""
        parsed = parse_frame(frame, self._about)
        manifest = parsed.manifest
        if sender is not None and manifest.sender != sender:
            raise self._rejected(manifest.sender, f"it came over the connection of {sender!r}; leave it out.")
        self._check_new([manifest.sender])
        if manifest.weight:
            self._sum.fold(parsed.payload, manifest.weight)
            part = ClaimedPart(sender=manifest.sender, weight=manifest.weight, nonce=manifest.nonce)
            self._parts[part.sender] = part
        self._seen.add(manifest.sender)

    def add_partial(self, partial: JointAggregate) -> None:
        """Fold in what another server has added up: its sum as it is, its claim's parts among one's own."""
        partial.check(self._about)
        parts = {part.sender: part for part in partial.claimed.claim}
        self._check_new(parts)
        if parts:
            self._sum.fold(partial.payload, 1)
        self._parts |= parts
        self._seen |= set(parts)

    def finish(self) -> JointAggregate:
        """The sum of all that came, its claim in order of senders; ``unchanged`` where nothing had a weight."""
        parts = tuple(self._parts[sender] for sender in sorted(self._parts))
        claimed = JointClaim(occasion=self._about.occasion, claim=Claim(parts))
        return JointAggregate(claimed=claimed, payload=self._sum.payload() if parts else b"")

    def _check_new(self, senders: Collection[str]) -> None:
        if again := self._seen.intersection(senders):
            raise self._rejected(min(again), "already counted; a sender counts once a round.")
        if len(self._seen) + len(senders) > self._about.plan.max_clients:
            most = self._about.plan.max_clients
            raise self._rejected(min(senders), f"the plan holds {most} clients; plan for more.")

    def _rejected(self, sender: str, sentence: str) -> FrameRejected:
        return FrameRejected(f"Sender {sender!r}, {self._about}: {sentence}")
