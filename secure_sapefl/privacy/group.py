"""What a method is handed in place of its group's records: the mechanisms, each with its payment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.privacy.fisher import mean_squared_norms
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.randomness import RandomnessFor
from secure_sapefl.privacy.scores import noisy_means
from secure_sapefl.privacy.steps import PrivateStep, steps_privately
from secure_sapefl.privacy.trainer import epochs_privately
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Objective
from secure_sapefl.training.optimizer import Pace
from secure_sapefl.training.plan import Shard


@dataclass(frozen=True, slots=True)
class PrivateGroup:
    """`PrivateUse` for the sites of a group in one round; ``paid[g]`` is what site g has paid for, ``rows[g]`` the
    number of training rows it declares."""

    rows: tuple[int, ...]
    paid: tuple[Mapping[Purpose, Paid], ...]
    randomness: RandomnessFor
    clip: float

    def train(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, pace: Pace
    ) -> Tensor:
        return next(self.epochs(theta, model, shard, objective, purpose, pace, 1))

    def epochs(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, pace: Pace, count: int
    ) -> Iterator[Tensor]:
        paid, sources = self._payments(purpose), self.randomness(purpose)
        return epochs_privately(paid, sources, model, self.clip, theta, shard, self.rows, objective, pace, count)

    def steps(self, model: Model, shard: Shard, purpose: Purpose) -> Iterator[tuple[int, PrivateStep]]:
        return steps_privately(self._payments(purpose), self.randomness(purpose), model, self.clip, shard, self.rows)

    def means(self, exact: Tensor, asked: Tensor, purpose: Purpose, record_norm: float | None = None) -> Tensor:
        return noisy_means(self._payments(purpose), self.randomness(purpose), exact, asked, self.rows, record_norm)

    def squared_norms(self, theta: Tensor, model: Model, shard: Shard, purpose: Purpose) -> Tensor:
        exact = mean_squared_norms(model, theta, shard, self.rows, self.clip).unsqueeze(1)
        return self.means(exact, torch.ones_like(exact, dtype=torch.bool), purpose).squeeze(1)

    def _payments(self, purpose: Purpose) -> list[Paid]:
        try:
            return [site[purpose] for site in self.paid]
        except KeyError:
            raise RuntimeError(
                f"Nobody paid for {purpose.name}: the method reads records that its `releases` do not name."
            ) from None
