"""The terms of a study that server and sites must agree on before the first round."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from secure_sapefl.config import ScoreVisibility
from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose, stream

LARGEST_WEIGHT_RATIO: Final = 100.0
"""Between two weights in a sum, for a site whose owner says nothing else. The server keeps to it: whoever is lighter is
not in the sum, so that one site of next to no weight does not spoil it for all."""


def cohort_size(participation: float, sites: int) -> int:
    """ceil(r * C) sites take part in a round."""
    return math.ceil(participation * sites - 1e-9)


def draw_cohort(seed: int, participation: float, sites: int, round_index: int) -> tuple[int, ...]:
    """Which sites take part in a round, ascending: everybody who knows the seed knows them."""
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

    def _drawn(self, site: int, round_index: int, pool: Iterable[int]) -> tuple[int, ...]:
        others = np.array([c for c in pool if c != site], dtype=np.int64)
        if self.peers_per_client is None or len(others) <= self.peers_per_client:
            return tuple(int(c) for c in others)
        rng = stream(self.seed, Purpose.CHOOSE_PEERS, round_index=round_index, site=site)
        return tuple(sorted(int(c) for c in rng.choice(others, self.peers_per_client, replace=False)))
