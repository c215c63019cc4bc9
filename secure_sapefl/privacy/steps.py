"""Private steps for methods that take their own: one Poisson batch, one noised answer.

Such a method may ask for a gradient anywhere, for instance at a point that follows from the answer before (Per-FedAvg).
That is adaptive composition: each answer is one run of the sampled Gaussian mechanism and is paid for like a step of
DP-SGD, wherever it was asked for.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from secure_sapefl.models.base import Model, joined
from secure_sapefl.privacy.ledger import Paid
from secure_sapefl.privacy.per_record import clipped_by_site, record_gradients
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.privacy.record_gradients import RecordGradients, differences
from secure_sapefl.privacy.trainer import SiteNoise, noises, poisson_plan
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import batches


def steps_privately(
    paid: Sequence[Paid],
    randomness: Sequence[Randomness],
    model: Model,
    clip: float,
    shard: Shard,
    rows: Sequence[int],
) -> Iterator[tuple[int, "PrivateStep"]]:
    """As many steps as each site's payment is for: (active sites, step). ``rows`` is what sites declare."""
    events = [one.spend() for one in paid]
    noise = noises(events, randomness, rows, clip)
    for active, batch in batches(shard, poisson_plan(shard.sizes, rows, events, randomness)):
        yield active, PrivateStep(model, batch, clip, noise[:active])


class PrivateStep:
    """`Step` whose answer is clipped record by record, summed and noised."""

    def __init__(self, model: Model, batch: Batch, clip: float, noise: Sequence[SiteNoise]) -> None:
        self._model, self._batch, self._clip, self._noise = model, batch, clip, noise
        self._answered = False

    def gradient(self, theta: Tensor) -> Tensor:
        return self._released(lambda sites: self._records(theta, sites), 1.0)

    def difference(self, ahead: Tensor, behind: Tensor, apart: float) -> Tensor:
        """Each record's difference, divided by ``apart``, is clipped as a whole."""
        return self._released(
            lambda sites: differences(self._records(ahead, sites), self._records(behind, sites)), apart
        )

    def _records(self, theta: Tensor, sites: slice) -> list[RecordGradients]:
        return record_gradients(self._model, self._model.views(theta[sites]), self._batch.narrow(sites), LocalLoss())

    def _released(self, of_sites: Callable[[slice], Sequence[RecordGradients]], unit: float) -> Tensor:
        if self._answered:
            raise RuntimeError("This step has answered: a second answer on its records would not be paid for.")
        self._answered = True
        parts = clipped_by_site(self._model, of_sites, self._batch.weight, self._clip * unit)
        total = joined(parts)
        buffer = torch.empty_like(total[0])
        for row, noise in zip(total, self._noise, strict=True):
            noise.add_(row, buffer, -unit)
        return total
