"""Persons as unit: all records of a person bring one gradient, the mean over them, which is clipped as one.

    persons j drawn independently with probability q
    sum_j clipped( mean of g_i over the records i of person j )

A person moves the sum by at most C, however many records the person has. Persons weigh the same, not records.
"""

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from secure_sapefl.models.keyed import derived
from secure_sapefl.privacy.randomness import Randomness
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import STACK_BYTES, Trainer


def person_sum(
    trainer: Trainer, theta: Tensor, shard: Shard, site: int, rate: float, randomness: Randomness, clip: float
) -> Tensor:
    """The sum over the persons of one site who are drawn, at the common model ``theta`` [P], not yet noised, [P]."""
    persons = torch.unique(shard.persons_of(site))
    drawn = persons[torch.from_numpy(randomness.uniform(len(persons)) < rate).to(persons.device)]
    total = torch.zeros_like(theta, dtype=torch.float64)
    for some in drawn.split(max(1, STACK_BYTES // (theta.element_size() * len(theta)))) if len(drawn) else ():
        gradients = trainer.gradient(theta.expand(len(some), -1), _batch(shard, site, some), LocalLoss())
        total += _clipped(gradients, clip).sum(0, dtype=torch.float64)
    return total


def _batch(shard: Shard, site: int, persons: Tensor) -> Batch:
    """All records of each of the persons, side by side as sites stand elsewhere. A person with fewer than others has
    the first of them again, with weight 0: 0 times somebody else's record that gives no number would be no number."""
    whose, (x, y) = shard.persons_of(site), shard.site(site)
    own = [torch.nonzero(whose == person).squeeze(1) for person in persons]
    rows = pad_sequence(own, batch_first=True)
    counts = torch.tensor([len(one) for one in own], device=x.device).unsqueeze(1)
    there = torch.arange(rows.shape[1], device=x.device) < counts
    rows, weight = rows.where(there, rows[:, :1]), there / counts
    return Batch(x[rows], y[rows], rows, weight.to(x.dtype), _keys(shard, site, len(own)), shard.task)


def _keys(shard: Shard, site: int, count: int) -> Tensor | None:
    if shard.keys is None:
        return None
    return torch.cat([derived(shard.keys[site : site + 1], place) for place in range(count)])


def _clipped(gradients: Tensor, clip: float) -> Tensor:
    """Row by row; one that is no number, or too long to have a length, counts as nothing."""
    norms = gradients.norm(dim=1, keepdim=True)
    return torch.where(norms.isfinite(), gradients * (clip / norms.clamp(min=clip)), 0)
