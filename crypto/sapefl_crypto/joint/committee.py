"""The sites that together may open a round's sum: who they are, how many it takes, how many may be dishonest.

With k members of which f collude with the server, ``threshold`` answers open a sum, so the colluders must be fewer; and
a claim is certified by more than (k + f) / 2 signatures. Two claims would need more than k + f of them, and there are
k - f honest members who sign once and f who sign whatever they like: k + f at most. So no two claims of a round are
ever both certified.
"""

import hashlib
from dataclasses import dataclass

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import ValueRejected

MOST_MEMBERS = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Committee:
    """``members`` in the order of their shares; ``tolerated`` colluders among them learn nothing alone.

    ``colluders`` are those among all sites, and so perhaps among the senders: more than sit on a committee where only
    some sites do, as many as are tolerated where all do.
    """

    members: tuple[str, ...]
    threshold: int
    tolerated: int
    colluders: int = 0

    def __post_init__(self) -> None:
        size = len(self.members)
        if not 2 <= size <= MOST_MEMBERS or len(set(self.members)) < size:
            raise ValueRejected(f"A committee has 2 to {MOST_MEMBERS} members, each once; got {list(self.members)}.")
        if not 0 <= self.tolerated < self.threshold <= size:
            raise ValueRejected(
                f"{size} members, {self.threshold} needed to open, {self.tolerated} colluders tolerated: the threshold "
                "must exceed the colluders and not exceed the members."
            )
        object.__setattr__(self, "colluders", max(self.colluders, self.tolerated))

    @property
    def quorum(self) -> int:
        """Signatures that certify a claim: the least number above (k + f) / 2."""
        return (len(self.members) + self.tolerated) // 2 + 1

    @property
    def needed(self) -> int:
        """Members without whom no sum is opened: enough to certify a claim, and enough to answer it."""
        return max(self.quorum, self.threshold)

    @property
    def fewest_senders(self) -> int:
        """Two honest sites must remain when all colluders are among the senders."""
        return self.colluders + 2

    def point(self, member: str) -> int:
        """Where the member's share lies on the polynomial; the secret lies at 0."""
        if member not in self.members:
            raise ValueRejected(f"{member!r} is not on this round's committee {', '.join(self.members)}.")
        return self.members.index(member) + 1

    @property
    def digest(self) -> bytes:
        about = bind("sapefl joint committee 1", self.threshold, self.tolerated, self.colluders, *self.members)
        return hashlib.sha256(about).digest()[:16]
