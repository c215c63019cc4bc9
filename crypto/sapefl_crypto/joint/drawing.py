"""Who sits on a round's committee, and how large it must be.

Up to 31 sites all are members. Beyond that a committee is drawn anew for every round, and how many of the colluders sit
on it is a matter of chance: hypergeometric. The chance that more than ``tolerated`` do is bounded over *all* rounds of
a study together. Attempts at one round share one committee: a coordinator who could have it drawn again by failing
would try until it suits him.

The draw comes from a seed and from a nonce of every site. Whoever picks the seed, as a coordinator does, must not know
all nonces when he does; sites sign theirs with their consent.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sapefl_crypto.binding import bind
from sapefl_crypto.errors import ValueRejected
from sapefl_crypto.joint.committee import MOST_MEMBERS, Committee

ALL_SIT_UP_TO: Final = 31
FEWEST_SITES: Final = 3


def chance_of_more(sites: int, colluders: int, members: int, tolerated: int) -> float:
    """Chance that more than ``tolerated`` of the colluders are among ``members`` drawn from all sites."""
    ways = (
        math.comb(colluders, drawn) * math.comb(sites - colluders, members - drawn)
        for drawn in range(tolerated + 1, min(colluders, members) + 1)
    )
    return sum(ways) / math.comb(sites, members)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitteeSize:
    """How many sit, how many open a sum, how many colluders may sit, and how many there are among all sites."""

    members: int
    threshold: int
    tolerated: int
    colluders: int


def planned_size(sites: int, *, colluders: int, rounds: int, failure: float = 1e-6) -> CommitteeSize:
    """A size for a whole study: more than ``tolerated`` colluders sit with chance ``failure`` at most, in any round.

    Two thirds of the members open a sum, so that a third may be silent.
    """
    if sites < FEWEST_SITES or not 0 <= colluders <= sites - 2 or rounds < 1 or not 0 < failure < 1:
        raise ValueRejected(
            f"{sites} sites, {colluders} colluders, {rounds} rounds, failure {failure}: joint keys need three sites, "
            "two of them honest, at least one round and a chance between 0 and 1."
        )
    sizes = [sites] if sites <= ALL_SIT_UP_TO else range(ALL_SIT_UP_TO, min(sites, MOST_MEMBERS) + 1)
    for members in sizes:
        tolerated = _tolerated(sites, colluders, members, failure / rounds)
        threshold = max(-(-2 * members // 3), tolerated + 1)
        if tolerated <= members // 3 or (sites <= ALL_SIT_UP_TO and threshold <= members):
            return CommitteeSize(members=members, threshold=threshold, tolerated=tolerated, colluders=colluders)
    raise ValueRejected(
        f"No committee of up to {sizes[-1]} of {sites} sites keeps {colluders} colluders below a third of it in "
        f"{rounds} rounds but for chance {failure:g}. Tolerate fewer colluders or allow a larger chance."
    )


def _tolerated(sites: int, colluders: int, members: int, chance: float) -> int:
    """The least number that is exceeded with ``chance`` at most."""
    candidates = range(min(colluders, members) + 1)
    return next(count for count in candidates if chance_of_more(sites, colluders, members, count) <= chance)


def draw_committee(nonces: Mapping[str, bytes], *, seed: bytes, round_index: int, size: CommitteeSize) -> Committee:
    """The committee of a round: the sites whose hash is smallest, in order of their names."""
    if size.members > len(nonces):
        raise ValueRejected(f"A committee of {size.members} cannot be drawn from {len(nonces)} sites; plan it again.")
    everybody = bind("sapefl joint nonces 1", *(part for name in sorted(nonces) for part in (name, nonces[name])))
    about = bind("sapefl joint draw 1", seed, hashlib.sha256(everybody).digest(), round_index)
    drawn = sorted(nonces, key=lambda name: hashlib.sha256(bind("rank", about, name)).digest())[: size.members]
    return Committee(
        members=tuple(sorted(drawn)), threshold=size.threshold, tolerated=size.tolerated, colluders=size.colluders
    )
