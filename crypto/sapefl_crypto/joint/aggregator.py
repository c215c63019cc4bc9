"""The server's side of a joint round: weigh and add polynomials it cannot read. No key, and no SEAL either.

Numbers modulo q with whole weights add up in two machine words each, so a frame is folded in by a few passes of numpy,
and memory is one sum and one frame however many sites take part. Sums are linear: regional servers add up their own
sites, and what they send on adds up to the same bytes as one server would have made (`add_partial`).
"""

from collections.abc import Collection
from typing import Final

import numpy as np

from sapefl_crypto.claims import Claim, ClaimedPart
from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.joint.aggregate import JointAggregate, JointClaim
from sapefl_crypto.joint.field import reduced
from sapefl_crypto.joint.frames import parse_frame
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.joint.rows import BLOCK, HALF, ROW_BYTES, Planes, blocks, pack_rows, planes, rows_of
from sapefl_crypto.seal import Coefficients

_FIRST_SHIFT: Final = 30  # how the first half of a chunk's numbers is cut into two limbs,
_SECOND_SHIFT: Final = 36  # and the second half, as it lies packed
_LIMB: Final = np.uint64(2**_FIRST_SHIFT - 1)


class LimbSum:
    """Σ weight · chunk as two uint64 limbs a number, straight from packed bytes. Room for Σ weight up to 2^27."""

    def __init__(self, chunks: int) -> None:
        self._limbs = np.zeros((4, chunks, HALF), np.uint64)  # low and high of a chunk's first half, then of its second
        self._scratch = np.empty((2, BLOCK, HALF), np.uint64)
        self._packed = np.empty((BLOCK, ROW_BYTES), np.uint8)

    def fold(self, payload: bytes | memoryview, weight: int) -> None:
        packed = rows_of(payload)
        for rows in blocks(len(packed)):
            aligned = self._packed[: len(packed[rows])]
            aligned[:] = packed[rows]  # in a frame they begin anywhere, and numpy is slow with words that do
            self._fold_rows(planes(aligned), self._limbs[:, rows], np.uint64(weight))

    def _fold_rows(self, given: Planes, sums: Coefficients, weight: np.uint64) -> None:
        first_low, first_high, second_low, second_high = sums
        limb, last_bits = self._scratch[:, : len(first_low)]
        np.bitwise_and(given.words, _LIMB, out=limb)
        _add(first_low, limb, weight)
        np.right_shift(given.words, np.uint64(_FIRST_SHIFT), out=limb)
        np.right_shift(limb, np.uint64(_FIRST_SHIFT), out=last_bits)
        limb &= _LIMB
        _add(first_high, limb, weight)
        np.copyto(limb, given.fours)
        limb <<= np.uint64(4)
        limb |= last_bits
        _add(second_low, limb, weight)
        np.copyto(limb, given.ones)
        limb <<= np.uint64(16)
        np.copyto(last_bits, given.twos)
        limb |= last_bits
        _add(second_high, limb, weight)

    def payload(self) -> bytes:
        packed = np.empty((self._limbs.shape[1], ROW_BYTES), np.uint8)
        for rows in blocks(len(packed)):
            first_low, first_high, second_low, second_high = self._limbs[:, rows]
            first = reduced(first_high, first_low, _FIRST_SHIFT)
            second = reduced(second_high, second_low, _SECOND_SHIFT)
            pack_rows(np.hstack((first, second)), packed[rows])
        return packed.tobytes()


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
