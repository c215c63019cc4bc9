"""The terms of a study that server and sites must agree on before the first round."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from secure_sapefl.protocol.messages import SiteId
from secure_sapefl.streams import Purpose, stream


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

    @property
    def cohort_size(self) -> int:
        return cohort_size(self.participation, len(self.sites))

    def cohort(self, round_index: int) -> tuple[int, ...]:
        """The sites sampled for a round, ascending."""
        return draw_cohort(self.seed, self.participation, len(self.sites), round_index)

    def peers_of(self, site: int, round_index: int, candidates: tuple[int, ...]) -> tuple[int, ...]:
        """Whose models a site is given: the other candidates, or a random ``peers_per_client`` of them."""
        others = np.array([c for c in candidates if c != site], dtype=np.int64)
        if self.peers_per_client is None or len(others) <= self.peers_per_client:
            return tuple(int(c) for c in others)
        rng = stream(self.seed, Purpose.CHOOSE_PEERS, round_index=round_index, site=site)
        return tuple(sorted(int(c) for c in rng.choice(others, self.peers_per_client, replace=False)))
