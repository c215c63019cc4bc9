"""What a member demands of a claim before it signs, and a site before it opens.

The committee's rule comes first: colluders know their own updates, so two honest senders must remain. And two
of *comparable* weight: a sum that is nearly all one site's is that site's update, whatever else is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sapefl_crypto.claims import Claim, ClaimPolicy
from sapefl_crypto.errors import AggregateRejected
from sapefl_crypto.joint.aggregate import JointClaim
from sapefl_crypto.joint.frames import Manifest
from sapefl_crypto.joint.occasion import JointRound
from sapefl_crypto.occasion import Kind

LARGEST_HONEST_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPolicy:
    """``max_honest_share`` bounds a site's share of what is left when as many of the heaviest others collude as may.

    ``own`` is the manifest of the frame this site sent. ``rules`` are those of shared keys, its ``own`` unused.
    """

    max_honest_share: float = LARGEST_HONEST_SHARE
    rules: ClaimPolicy = field(default_factory=ClaimPolicy)
    own: Manifest | None = None
    own_may_be_left_out: bool = False

    def check(self, about: JointRound, claimed: JointClaim) -> None:
        claim, committee = claimed.claim, about.committee
        if self.own is not None:
            self._check_own(self.own, claim)
        if not claim.parts:
            return
        if len(claim) < committee.fewest_senders:
            raise AggregateRejected(
                "minimum cohort",
                f"{about}: {len(claim)} senders; with {committee.colluders} colluders among them, fewer than two "
                f"honest ones could remain. At least {committee.fewest_senders} are needed.",
            )
        share = largest_honest_share([part.weight for part in claim], committee.colluders)
        if share > self.max_honest_share:
            raise AggregateRejected(
                "maximum share",
                f"{about}: if the {committee.colluders} heaviest others collude, one site holds {share:.3f} of the "
                f"rest, allowed {self.max_honest_share:.3f}.",
            )
        self.rules.check(claim, Kind.WEIGHTED, about.plan.weight_bits)

    def _check_own(self, own: Manifest, claim: Claim) -> None:
        found = [(part.weight, part.nonce) for part in claim if part.sender == own.sender]
        if not found and own.weight and not self.own_may_be_left_out:
            raise AggregateRejected("own weight", f"{own.sender!r} sent a frame and was left out; ask the server why.")
        if found and found != [(own.weight, own.nonce)]:
            raise AggregateRejected(
                "own weight",
                f"{own.sender!r} sent a frame of weight {own.weight}, the claim says {found[0][0]} for "
                f"{'that' if found[0][1] == own.nonce else 'another'} frame; one of them was changed.",
            )


def largest_honest_share(weights: Sequence[int], colluders: int) -> float:
    """The largest share any site can have among those left when the heaviest others, the colluders, are gone."""
    ordered = sorted(weights, reverse=True)
    return ordered[0] / (ordered[0] + sum(ordered[colluders + 1 :]))
