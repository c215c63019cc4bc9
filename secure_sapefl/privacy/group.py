"""What a method is handed in place of its group's records: the two mechanisms, each with its payment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from secure_sapefl.models import Model
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.privacy.scores import noisy_similarities
from secure_sapefl.privacy.trainer import train_privately
from secure_sapefl.streams import Purpose
from secure_sapefl.training.objective import Objective
from secure_sapefl.training.plan import Shard


@dataclass(frozen=True, slots=True)
class PrivateGroup:
    """`PrivateUse` for the sites of a group in one round; ``paid[g]`` is what site g has paid for."""

    paid: tuple[Mapping[Purpose, Paid], ...]
    randomness: Callable[[Purpose], Sequence[Randomness]]
    clip: float

    def train(
        self, theta: Tensor, model: Model, shard: Shard, objective: Objective, purpose: Purpose, lr: float
    ) -> Tensor:
        paid, sources = self._payments(purpose), self.randomness(purpose)
        return train_privately(paid, sources, model, self.clip, theta, shard, objective, lr)

    def similarities(self, exact: Tensor, asked: Tensor, rows: Sequence[int], purpose: Purpose) -> Tensor:
        return noisy_similarities(self._payments(purpose), self.randomness(purpose), exact, asked, rows)

    def _payments(self, purpose: Purpose) -> list[Paid]:
        try:
            return [site[purpose] for site in self.paid]
        except KeyError:
            raise RuntimeError(
                f"Nobody paid for {purpose.name}: the method reads records that its `releases` do not name."
            ) from None
