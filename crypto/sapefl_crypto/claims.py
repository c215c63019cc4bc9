"""What the server says it added up, and the rules by which a site believes it.

The tags prove that an aggregate *is* the claimed sum. Whether the claimed sum is one a site should accept is a matter
of policy: "the sum of one" is a valid sum, and skewed weights turn a sum into one site's update.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sapefl_crypto.errors import AggregateRejected, ValueRejected
from sapefl_crypto.frames import sender_and_nonce
from sapefl_crypto.occasion import Kind

_SCORE_SLACK = 1e-6  # scores are sums of float32 cosines and may pass their bound by rounding


def quantise_score(score: float, max_score: float, weight_bits: int) -> int:
    """The integer weight round(score / max_score · 2^bits); 0 only for a score of 0.

    A positive score that would round to 0 becomes 1: a site that counts little still counts, and being left out would
    tell the server more than a small weight does. Anything but 0 <= score <= max_score raises `ValueRejected`.
    """
    share = checked_share(score, max_score)
    return max(1, round(share * 2**weight_bits)) if share > 0 else 0


def checked_share(score: float, max_score: float) -> float:
    """score / max_score in [0, 1]."""
    if not (math.isfinite(max_score) and max_score > 0):
        raise ValueRejected(f"max_score is {max_score}; use the public bound, such as the number of peers.")
    if not 0 <= score <= max_score * (1 + _SCORE_SLACK):
        raise ValueRejected(f"a score of {score} is not between 0 and max_score = {max_score}.")
    return min(1.0, score / max_score)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedPart:
    """One frame in the sum: whose, which of the sender's frames (its nonce), and how often it counts."""

    sender: str
    weight: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """The server's statement of what an aggregate is the sum of."""

    parts: tuple[ClaimedPart, ...] = ()

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[ClaimedPart]:
        return iter(self.parts)

    @property
    def total(self) -> int:
        return sum(part.weight for part in self.parts)

    @property
    def weights(self) -> dict[str, int]:
        return {part.sender: part.weight for part in self.parts}

    @property
    def shares(self) -> dict[str, float]:
        return {part.sender: part.weight / self.total for part in self.parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPart:
    """What this site sent, to find again in the claim. ``frame`` is the frame as it left."""

    frame: bytes
    score: float
    max_score: float
    may_be_left_out: bool = False

    def weight(self, kind: Kind, weight_bits: int) -> int:
        return 1 if kind is Kind.HIDDEN else quantise_score(self.score, self.max_score, weight_bits)

    def check(self, claim: Claim, weight: int) -> None:
        """Raise unless the claim holds exactly this frame with exactly ``weight``; a zero weight means absent."""
        sender, nonce = sender_and_nonce(self.frame)
        found = [part for part in claim if part.sender == sender]
        if not found:
            if weight and not self.may_be_left_out:
                raise AggregateRejected("own weight", f"{sender!r} sent a frame and was left out; ask the server why.")
        elif (found[0].weight, found[0].nonce) != (weight, nonce):
            raise AggregateRejected(
                "own weight",
                f"{sender!r} expected weight {weight} for its last frame, the claim says {found[0].weight} for "
                f"{'that' if found[0].nonce == nonce else 'another'} frame; the score or the frame was changed.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPolicy:
    """A site's conditions for using an aggregate. The defaults accept any claim; a deployment should not."""

    min_cohort: int = 1
    min_effective_cohort: float = 1.0
    max_share: float = 1.0
    max_weight_ratio: float = math.inf
    own: OwnPart | None = None

    def check(self, claim: Claim, kind: Kind, weight_bits: int) -> None:
        """What the claim itself shows. With hidden scores the shares show only after decryption, as one number."""
        if self.own is not None:
            self.own.check(claim, self.own.weight(kind, weight_bits))
        if claim.parts and len(claim) < self.min_cohort:
            raise AggregateRejected("minimum cohort", f"{len(claim)} senders, this site asks for {self.min_cohort}.")
        if claim.parts and kind is Kind.WEIGHTED:
            self.check_shares(claim.shares.values())
            self.check_ratio(claim.weights.values())

    def check_shares(self, shares: Iterable[float]) -> None:
        """1 / Σ share² is the number of equal sites that would mix as well as these do (Kish)."""
        known = list(shares)
        if max(known) > self.max_share:
            raise AggregateRejected("maximum share", f"one site holds {max(known):.3f}, allowed {self.max_share:.3f}.")
        self.check_effective(1 / sum(share * share for share in known))

    def check_ratio(self, weights: Iterable[int]) -> None:
        """Sums are exact. In 1 · x + 200 · y a small x is the remainder of a division by 200, and y the quotient."""
        known = list(weights)
        ratio = max(known) / min(known)
        if ratio > self.max_weight_ratio:
            raise AggregateRejected(
                "weight ratio", f"weights from {min(known)} to {max(known)}, allowed 1 to {self.max_weight_ratio:g}."
            )

    def check_mixing(self, senders: int, effective: float) -> None:
        """What one number tells of ``senders`` hidden shares: how well they mix, and how large one of them can be.

        Shares whose squares sum to 1 / e lie within sqrt((1/e - 1/n) (1 - 1/n)) of 1/n (Samuelson 1968). Their ratio
        needs no bound: a site that weighs its own update multiplies by at most 1 and rounds, and leaves no remainder.
        """
        self.check_effective(effective)
        spread = max(0.0, 1 / effective - 1 / senders)
        largest = 1 / senders + math.sqrt(spread * (1 - 1 / senders))
        if largest > self.max_share * (1 + 1e-9):
            raise AggregateRejected(
                "maximum share",
                f"scores are hidden, and one site may hold up to {largest:.3f}; allowed {self.max_share:.3f}.",
            )

    def check_effective(self, effective: float) -> None:
        if effective < self.min_effective_cohort * (1 - 1e-9):
            raise AggregateRejected(
                "effective cohort", f"{effective:.6g} sites' worth of mixing, asked {self.min_effective_cohort:g}."
            )
