"""Early stopping: training ends when training rows that were held back say that it no longer helps, and the round is
used that was best on them. Test rows have no part in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from secure_sapefl.engine.result import RoundRecord
from secure_sapefl.metrics import Metric
from secure_sapefl.protocol.messages import SiteId


@dataclass(frozen=True, slots=True)
class BestRound:
    """What sites held after it, and the models they used."""

    tensors: Mapping[str, Tensor]
    scored: Mapping[SiteId, Tensor]

    @classmethod
    def copied(cls, tensors: Mapping[str, Tensor], scored: Mapping[SiteId, Tensor]) -> "BestRound":
        return cls({name: rows.clone() for name, rows in tensors.items()}, dict(scored))


@dataclass(frozen=True, slots=True)
class Stopping:
    """All of it follows from the rounds so far, so that a resumed run decides as the whole one."""

    metric: Metric
    patience: int | None  # None: every round is run, and the last one used

    def used(self, records: Sequence[RoundRecord]) -> int | None:
        """The place of the best round, the first of equals; None where the last one is used."""
        best: int | None = None
        for place, record in enumerate(records):
            if record.validation is None:
                continue
            held = None if best is None else records[best].validation
            if held is None or self.metric.better(record.validation, held):
                best = place
        return None if self.patience is None else best

    def is_best(self, records: Sequence[RoundRecord]) -> bool:
        """Whether the last of them is."""
        return bool(records) and self.used(records) == len(records) - 1

    def over(self, records: Sequence[RoundRecord]) -> bool:
        best = self.used(records)
        if best is None or self.patience is None:
            return False
        return sum(record.validation is not None for record in records[best + 1 :]) >= self.patience
