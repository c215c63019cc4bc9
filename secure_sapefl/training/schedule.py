"""The learning rate of a round: constant, or falling towards the last round, after a slower beginning where asked."""

import math
from dataclasses import dataclass

from secure_sapefl.config import ScheduleName


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    name: ScheduleName
    lr: float
    rounds: int
    warmup: int = 0  # rounds in which it rises to what it is

    def rate(self, round_index: int) -> float:
        """Never 0: a round after the last, of a site that joins late, has the last one's."""
        now = min(round_index, self.rounds - 1)
        rising = min(1.0, (now + 1) / (self.warmup + 1))
        return self.lr * rising * self._falling(now / self.rounds)

    def _falling(self, gone: float) -> float:
        match self.name:
            case "linear":
                return 1 - gone
            case "cosine":
                return (1 + math.cos(math.pi * gone)) / 2
            case "constant":
                return 1.0
