"""The terms of a study that server and sites must agree on before the first round."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.config import KeyChoice, ScoreVisibility
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose, stream

LARGEST_WEIGHT_RATIO: Final = 100.0
"""Between two weights in a sum, for a site whose owner says nothing else. The server keeps to it: whoever is lighter is
not in the sum, so that one site of next to no weight does not spoil it for all."""


def fewest_contributors(invited: int) -> int:
    """m of shared noise where nobody says another: nine of ten; a tenth may be missing before a round waits."""
    return math.ceil(0.9 * invited - 1e-9)


def cohort_size(participation: float, sites: int) -> int:
    """ceil(r * C) sites take part in a round."""
    return math.ceil(participation * sites - 1e-9)


@lru_cache(maxsize=1 << 6)
def draw_cohort(seed: int, participation: float, sites: int, round_index: int) -> tuple[int, ...]:
    """Which sites take part in a round, ascending: everybody who knows the seed knows them.

    It is remembered, since it is asked for once a site: of thousands of sites that would be millions of draws.
    """
    rng = stream(seed, Purpose.SAMPLE_SITES, round_index=round_index)
    return tuple(sorted(int(c) for c in rng.choice(sites, cohort_size(participation, sites), replace=False)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Public: holds nothing that depends on a record."""

    name: str
    sites: tuple[SiteId, ...]
    participation: float
    seed: int
    parameters: int  # length of every update
    max_score: float
    peers_per_client: int | None = None
    peers_from: Literal["cohort", "everyone"] = "cohort"  # this round's sites, or all that ever sent a model
    relay_only: bool = False  # uploads carry a sealed model and no update
    scores: ScoreVisibility = "open"  # the server weighs, or each site weighs its own update
    least_contributors: int = 1  # to a sum; one of fewer is not made, and not opened
    keys: KeyChoice = "shared"
    colluders: int = 1  # with joint keys: sites that may work with the server
    rounds: int = 1
    late: tuple[SiteId, ...] = ()  # who will come after the last round, behind the roster

    @property
    def cohort_size(self) -> int:
        return cohort_size(self.participation, len(self.sites))

    def cohort(self, round_index: int) -> tuple[int, ...]:
        """The sites sampled for a round, ascending."""
        return draw_cohort(self.seed, self.participation, len(self.sites), round_index)

    def peers_of(self, site: int, round_index: int) -> tuple[int, ...]:
        """Whose models a site may be given: the others of the planned cohort, or ``peers_per_client`` drawn from them.

        It follows from the study alone, so a site can tell a peer that was drawn from one that a server picked. Whose
        model is not there is missing; nobody takes the place.
        """
        from_cohort = self.peers_from == "cohort" or round_index == 0
        return self._drawn(site, round_index, self.cohort(round_index) if from_cohort else range(len(self.sites)))

    def late_peers_of(self, site: int, round_index: int) -> tuple[int, ...]:
        """The same for a site that comes after the last round, from the whole roster."""
        return self._drawn(site, round_index, range(len(self.sites)))

    @property
    def fewest_in_a_sum(self) -> int:
        """With joint keys two honest sites must remain when all colluders are in it and take their updates out."""
        return max(self.least_contributors, self.colluders + 2 if self.keys == "joint" and not self.relay_only else 1)

    def objection(self, weights: Sequence[int], least: int) -> str | None:
        """Why no sum is made of updates with these weights; None where one is, be it of nothing.

        Uploads with a score of 0 are in no sum, and have no weight here.
        """
        least = max(least, self.fewest_in_a_sum)
        if 0 < len(weights) < least:
            return f"{len(weights)} sites sent a score above 0, the study asks for {least} in a sum."
        return _too_uneven(weights, self.colluders) if self.keys == "joint" and weights else None

    def is_given(self, reader: SiteId, sender: SiteId, made: int) -> bool:
        """Whether ``reader`` may open the model that ``sender`` made in this round, if it is handed it."""
        return self.keys == "shared" or reader in readers_of(self, sender, made)

    def _drawn(self, site: int, round_index: int, pool: Sequence[int]) -> tuple[int, ...]:
        others = _as_array(pool)
        others = others[others != site]
        if self.peers_per_client is None or len(others) <= self.peers_per_client:
            return tuple(int(c) for c in others)
        rng = stream(self.seed, Purpose.CHOOSE_PEERS, round_index=round_index, site=site)
        return tuple(sorted(int(c) for c in rng.choice(others, self.peers_per_client, replace=False)))


@lru_cache(maxsize=1 << 6)
def _as_array(pool: Sequence[int]) -> NDArray[np.int64]:
    return np.array(pool, dtype=np.int64)


def _too_uneven(weights: Sequence[int], colluders: int) -> str | None:
    """A sum that is nearly all one site's is that site's update; no member of a committee helps to open it."""
    from sapefl_crypto.joint.policy import LARGEST_HONEST_SHARE, largest_honest_share  # loads TenSEAL

    if largest_honest_share(weights, colluders) <= LARGEST_HONEST_SHARE:
        return None
    return (
        f"if {colluders} of the others work with the server, one site has more than {LARGEST_HONEST_SHARE:.0%} of what "
        "is left of the sum; no committee would open it."
    )


@lru_cache(maxsize=1 << 12)
def readers_of(study: Study, sender: SiteId, made: int) -> tuple[SiteId, ...]:
    """For whom a model is sealed where no key is shared: whoever the seed can have it given to before its sender is
    drawn again and makes another; where it is not drawn again, also those who come after the last round.

    Nobody else can open it, not with the server's help either.
    """
    if sender not in study.sites:
        return ()
    place, names, given = study.sites.index(sender), (*study.sites, *study.late), set[int]()
    for later in range(made + 1, study.rounds):
        cohort = study.cohort(later)
        given |= {site for site in cohort if place in study.peers_of(site, later)}
        if place in cohort:
            break
    else:
        given |= {site for site in range(len(names)) if place in study.late_peers_of(site, study.rounds)}
    return tuple(names[site] for site in sorted(given))
