"""Sums of counts that only sites read: exact integers, carried by the same frames, adders and checks as updates.

A count is cut into limbs of 12 bits, and a limb is laid on the grid of the encryption plan. The mean of limbs over at
most 128 sites, times their number, is then the integer sum of limbs, whatever rounding to 32 bits did on the way. The
server adds ciphertexts of equal weight and holds no key; below the least number of sites it makes no sum, and a site
opens none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapefl_crypto import Aggregate, Aggregator, Parameters
from sapefl_crypto.exact_plan import ExactPlan
from secure_sapefl.errors import BadInput
from secure_sapefl.protocol.codec import Codec, Vector
from secure_sapefl.protocol.messages import SiteId

Counts = NDArray[np.int64]
LIMB_BITS: Final = 12
LIMBS: Final = 4
NOISE_OFFSET: Final = 1 << 24  # each site adds it to noised counts, which are above 0 then; taken off the total
_EQUAL: Final = 1.0  # everybody's score


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOfCounts:
    """One sum of a study: what it is called, how long it is, and over how many sites at least it is made."""

    params: Parameters
    study: str
    index: int  # of the sum; no two sums of a study share one
    entries: int
    least: int

    def protected(self, codec: Codec, counts: Counts, sender: SiteId) -> bytes:
        """A site's counts, for the server."""
        if counts.shape != (self.entries,) or counts.min(initial=0) < 0 or counts.max(initial=0) >= 1 << 48:
            raise BadInput(f"Site {sender!r}: expected {self.entries:,} counts from 0 to 2^48.")
        vector = limbs_of(counts, self.params)
        return codec.encrypt(vector, study=self.study, round_index=self.index, sender=sender)

    def added(self, frames: Mapping[SiteId, bytes]) -> bytes:
        """The server's half: it reads nothing but who sent."""
        if len(frames) < self.least:
            raise BadInput(f"{len(frames)} sites sent counts, a sum is made over at least {self.least}. Wait for more.")
        adder = Aggregator(
            self.params, study=self.study, round_index=self.index, length=LIMBS * self.entries, max_score=_EQUAL
        )
        for sender, frame in frames.items():
            adder.add(frame, _EQUAL, sender=sender)
        return adder.finish().to_bytes()

    def check(self, frame: bytes, sender: SiteId) -> None:
        """`FrameRejected` for what is no frame of this sum by ``sender``; it takes no key to see that."""
        adder = Aggregator(
            self.params, study=self.study, round_index=self.index, length=LIMBS * self.entries, max_score=_EQUAL
        )
        adder.add(frame, _EQUAL, sender=sender)

    def opened(self, codec: Codec, aggregate: bytes) -> Counts:
        """The total, at a site. The codec has checked that it is the sum of those whom the server names."""
        senders = len(Aggregate.from_bytes(aggregate).claim)
        mean = codec.decrypt(aggregate, study=self.study, round_index=self.index)
        if mean is None or senders < self.least:
            raise BadInput(f"A sum over {senders} sites is not opened; this study asks for {self.least}.")
        return counts_of(mean, senders, self.params)


def limbs_of(counts: Counts, params: ExactPlan) -> Vector:
    limbs = [(counts >> (LIMB_BITS * place)) & ((1 << LIMB_BITS) - 1) for place in range(LIMBS)]
    return np.ldexp(np.concatenate(limbs).astype(np.float64), -params.grid_bits).astype(np.float32)


def counts_of(mean: Vector, senders: int, params: ExactPlan) -> Counts:
    sums = np.rint(np.ldexp(mean.astype(np.float64) * senders, params.grid_bits)).astype(np.int64)
    parts = sums.reshape(LIMBS, -1)
    return np.asarray(sum(part << (LIMB_BITS * place) for place, part in enumerate(parts)), dtype=np.int64)
