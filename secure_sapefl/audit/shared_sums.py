"""Shared noise attacked where it is read: in an opened sum, and in one update that somebody opened alone.

Clones of one site take a step, half of them with one record more (or with a site's whole update, where that is the
unit). In the sum as many others add their noise as the plan calls honest; colluders and the reader have subtracted
theirs. The first must stay below what the step costs by `epsilon_shared`, the second below what it costs by
`epsilon_max`: two claims, two audits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.audit.mechanisms import MechanismAudit, canary, clones_of, distinguished
from secure_sapefl.data import Rows
from secure_sapefl.metrics import Floats
from secure_sapefl.models.base import Model
from secure_sapefl.privacy.accounting import composition, rdp_epsilon
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.ledger import MemoryStore
from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness
from secure_sapefl.privacy.shared.mechanism import SharedGroup
from secure_sapefl.privacy.shared.terms import SharedTerms
from secure_sapefl.streams import Purpose
from secure_sapefl.tasks.base import Task
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer

_FAR: Final = 100.0  # clips, that a site's training can lead away: what clipping is for


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBench:
    terms: SharedTerms
    rows: Rows
    model: Model
    undrawn: Model  # the same with nothing dropped
    task: Task
    theta: Tensor  # the common model, [P]
    trials: int  # on either side
    seed: int

    def group(self, count: int, *key: int) -> SharedGroup:
        """``count`` sites that have paid for a step, with streams of their own."""
        paid = tuple(self.terms.site("clone", len(self.rows), MemoryStore()).pay(0) for _ in range(count))

        def randomness(_: Purpose) -> Sequence[Randomness]:
            seeds = np.random.SeedSequence([self.seed, 6, *key]).spawn(count)
            return [KeyedRandomness(np.random.default_rng(one)) for one in seeds]

        return self.terms.group((len(self.rows),) * count, paid, randomness)


def audit_shared(bench: SharedBench) -> tuple[MechanismAudit, ...]:
    """The opened sum, and one update alone."""
    with_one, direction = canary(bench.rows, bench.undrawn, bench.task, bench.theta, bench.seed)
    direction = direction / direction.norm()
    alone = [_seen(bench, rows, direction, more) for more, rows in enumerate((bench.rows, with_one))]
    others = [_others(bench, direction, more) for more in range(2)]
    step = bench.terms.event(0)
    return (
        _audited(bench, "opened sum", alone[0] + others[0], alone[1] + others[1], step.in_a_sum()),
        _audited(bench, "one update opened alone", alone[0], alone[1], step),
    )


def _audited(bench: SharedBench, what: str, without: Floats, with_one: Floats, step: Event) -> MechanismAudit:
    delta, trials = bench.terms.budget.delta, bench.trials
    return MechanismAudit(
        release=f"update ({what})",
        trials=2 * trials,
        lower=distinguished(without, with_one, delta),
        claimed=rdp_epsilon(composition([step]), delta),
        reachable=distinguished(np.zeros(trials), np.ones(trials), delta),
    )


def _seen(bench: SharedBench, rows: Rows, direction: Tensor, more: int) -> Floats:
    """Each clone's noised sum, along the canary's gradient."""
    shard = clones_of(rows, bench.trials, bench.model, bench.task)
    return _along(bench, shard, direction, bench.trials, more)


def _others(bench: SharedBench, direction: Tensor, more: int) -> Floats:
    """The noise of all other honest contributors in each trial. Their records are the same on both sides."""
    count = bench.terms.plan.parties.honest - 1
    shard = replace(clones_of(bench.rows, count, bench.model, bench.task), sizes=(0,) * count)
    if count == 0:
        return np.zeros(bench.trials)
    return np.array([_along(bench, shard, direction, count, 2 + more, trial).sum() for trial in range(bench.trials)])


def _along(bench: SharedBench, shard: Shard, direction: Tensor, count: int, *key: int) -> Floats:
    """With persons as unit, the canary is one with a single record: no other moves a sum further. With sites it is one
    whose records carry the model far; the others' make nothing of it."""
    group = bench.group(count, *key)
    match bench.terms.plan.unit:
        case "record":
            sent = group.gradient_sums(bench.theta, bench.model, shard)
        case "person":
            everybody = replace(shard, persons=torch.arange(len(shard.y)))
            sent = group.person_sums(bench.theta, BatchedTrainer(bench.model), everybody)
        case "site":
            far = torch.tensor([[_FAR * bench.terms.plan.clip * (size > len(bench.rows))] for size in shard.sizes])
            sent = group.update_sums(far * direction)
    return (sent @ direction).double().numpy()
