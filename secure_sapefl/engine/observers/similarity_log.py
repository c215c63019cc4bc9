"""What the similarities of a round looked like, for the log and the heat map. Simulation only: sites keep these."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from secure_sapefl.engine.events import RoundBegun, RunEvent, SitesTrained
from secure_sapefl.protocol.messages import SiteId

MOST_SITES: Final = 1000  # whose matrix is kept: it grows with their square, and nobody reads a larger one


class SimilarityLog:
    """An observer that keeps the round that is going on, or the last one."""

    def __init__(self, sites: Sequence[SiteId]) -> None:
        self._place = {name: c for c, name in enumerate(sites)}
        self._clear()

    def _clear(self) -> None:
        sites = len(self._place) if len(self._place) <= MOST_SITES else 0
        self.matrix: NDArray[np.float64] = np.full((sites, sites), np.nan)
        self._scores: list[float] = []
        self._passed: list[float] = []
        self._received: list[float] = []

    def hear(self, event: RunEvent) -> None:
        if isinstance(event, RoundBegun):
            self._clear()
        elif isinstance(event, SitesTrained):
            self._add(event)

    def _add(self, trained: SitesTrained) -> None:
        if trained.contribution.score is not None:
            self._scores += trained.contribution.score.tolist()
        statistics = trained.contribution.statistics
        if "peers_passed" in statistics:
            if self.matrix.size:
                rows, columns = ([self._place[name] for name in names] for names in (trained.sites, trained.peers))
                self.matrix[np.ix_(rows, columns)] = statistics["similarity"].cpu().numpy()
            self._passed += statistics["peers_passed"].tolist()
            self._received += statistics["peers_received"].tolist()

    def summary(self) -> dict[str, float]:
        """Score range, and how many of the peers received pass the filter."""
        out: dict[str, float] = {}
        scores = [score for score in self._scores if np.isfinite(score)]
        if scores:
            out |= {"score_min": min(scores), "score_mean": float(np.mean(scores)), "score_max": max(scores)}
        if self._received:
            out |= {
                "peers_received": float(np.mean(self._received)),
                "peers_passed": float(np.mean(self._passed)),
                "sites_without_peer": float(np.sum(np.equal(self._passed, 0))),
            }
        return out

    def to_json(self) -> list[list[float | None]]:
        """The matrix, null where two sites were not compared; empty where the method compares nobody, or too many."""
        missing = np.isnan(self.matrix)
        if missing.all():
            return []
        rounded: NDArray[Any] = self.matrix.round(4).astype(object)
        rounded[missing] = None
        rows: list[list[float | None]] = rounded.tolist()
        return rows
