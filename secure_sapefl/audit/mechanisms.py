"""Each private mechanism by itself, run many times on two neighbouring data sets.

A whole run can be audited once, and one run bounds epsilon loosely. A single release can be repeated by the hundred:
clones of one site stand side by side, half of them with one record more, and go through the very mechanism the run
used, with its own payments. If an observer tells the halves apart better than the release's own entry in the ledger
allows, the mechanism does not do what was paid for (Nasr et al. 2021, arXiv:2101.04535).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from scipy.stats import beta
from torch import Tensor

from secure_sapefl.algorithms.releases import PrivateTraining, Releases
from secure_sapefl.audit.file_rows import WIDTH
from secure_sapefl.audit.one_run import CONFIDENCE
from secure_sapefl.data import Rows
from secure_sapefl.metrics import Array, Floats
from secure_sapefl.models.base import Model
from secure_sapefl.privacy.accounting import Composition, composition, rdp_epsilon
from secure_sapefl.privacy.events import Event
from secure_sapefl.privacy.group import PrivateGroup
from secure_sapefl.privacy.ledger import MemoryStore
from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness
from secure_sapefl.privacy.study import PrivateSite, Terms
from secure_sapefl.streams import Purpose
from secure_sapefl.tasks.base import Task
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.optimizer import Pace
from secure_sapefl.training.plan import Shard
from secure_sapefl.training.trainer import BatchedTrainer

_RATE: Final = 1e-3
"""Learning rate of the repeated training. Privacy does not depend on it, and with small steps a canary's gradient keeps
its direction."""
_WIDER: Final = 4  # the lone canary is this much wider than those of a run: nobody else is disturbed by it


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismAudit:
    """Of one release in one round: the least epsilon it can have, and what its event says it has."""

    release: str
    trials: int
    lower: float
    claimed: float
    reachable: float

    @property
    def broken(self) -> bool:
        return self.lower > self.claimed

    def to_json(self) -> dict[str, Any]:
        return {
            "release": self.release,
            "trials": self.trials,
            "epsilon_lower": self.lower,
            "epsilon_claimed": self.claimed,
            "reachable": self.reachable,
            "confidence": CONFIDENCE,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A site of the run whose releases are repeated: its rows, and the terms under which it pays."""

    terms: Terms
    rows: Rows
    model: Model
    undrawn: Model  # the same with nothing dropped
    task: Task
    theta: Tensor
    entries: int  # similarities in one release
    trainings: int  # trials on either side
    queries: int
    seed: int

    @property
    def releases(self) -> Releases:
        return self.terms.releases

    def clones(self, more: int, count: int) -> PrivateGroup:
        """``count`` sites that declare the bench's rows, each having paid for one round; those with ``more`` rows draw
        other numbers than those without."""
        declared = len(self.rows)
        paid = tuple(PrivateSite("clone", declared, self.terms, MemoryStore()).pay(0) for _ in range(count))

        def randomness(purpose: Purpose) -> Sequence[Randomness]:
            seeds = np.random.SeedSequence([self.seed, 4, declared + more, int(purpose)]).spawn(count)
            return [KeyedRandomness(np.random.default_rng(one)) for one in seeds]

        return PrivateGroup((declared,) * count, paid, randomness, self.terms.clip)

    def event(self, purpose: Purpose) -> Event:
        return PrivateSite("clone", len(self.rows), self.terms, MemoryStore()).events(0)[purpose]


Observe = Callable[[Bench, Purpose], tuple[Floats, Floats]]
"""What an observer sees of a release, without and with the record, a number a trial."""


def audit_mechanisms(bench: Bench) -> tuple[MechanismAudit, ...]:
    """Every query, and every training that is not the same mechanism as one before it."""
    queries = [_audited(bench, query.purpose, query.pays_for, _query) for query in bench.releases.queries]
    trainings: dict[Composition, PrivateTraining] = {}
    for one in bench.releases.trainings:
        trainings.setdefault(tuple(composition([bench.event(one.purpose)])), one)
    return (*queries, *(_audited(bench, one.purpose, one.pays_for, _training) for one in trainings.values()))


def _audited(bench: Bench, purpose: Purpose, release: str, observe: Observe) -> MechanismAudit:
    without, with_one = observe(bench, purpose)
    delta, trials = bench.terms.budget.delta, len(without)
    return MechanismAudit(
        release=f"{release} ({purpose.name.lower().replace('_', ' ')})",
        trials=2 * trials,
        lower=distinguished(without, with_one, delta),
        claimed=rdp_epsilon(composition([bench.event(purpose)]), delta),
        reachable=distinguished(np.zeros(trials), np.ones(trials), delta),
    )


def _query(bench: Bench, purpose: Purpose) -> tuple[Floats, Floats]:
    """Means of one half in every entry, against one record more that brings 1 to each: seen by their average."""
    count, rows = bench.queries, len(bench.rows)
    exact = torch.full((count, bench.entries), 0.5)
    asked = torch.ones_like(exact, dtype=torch.bool)
    without, with_one = (bench.clones(more, count).means(exact + more / rows, asked, purpose) for more in (0, 1))
    return without.mean(1).double().numpy(), with_one.mean(1).double().numpy()


def _training(bench: Bench, purpose: Purpose) -> tuple[Floats, Floats]:
    """A whole training of one round, with and without a canary: seen along what its gradient alone has."""
    with_one, gradient = canary(bench.rows, bench.undrawn, bench.task, bench.theta, bench.seed)
    direction = set_apart(gradient, _clipped_gradients(bench), bench.terms.clip)
    return _moved(bench, bench.rows, purpose, direction), _moved(bench, with_one, purpose, direction)


def canary(own: Rows, model: Model, task: Task, theta: Tensor, seed: int) -> tuple[Rows, Tensor]:
    """A site's rows with one more that nobody would have, and its gradient at ``theta``, [P]."""
    rng, width = np.random.default_rng([seed, 5]), WIDTH * _WIDER
    x = (own.X.mean(0) + width * own.X.std(0) * rng.normal(size=(1, *own.X.shape[1:]))).astype(np.float32)
    y = _most_wrong(task, model.outputs(theta[None], torch.from_numpy(x)[None])[0], own)
    with_one = Rows(np.concatenate([own.X, x]), np.concatenate([own.y, y]))
    one = torch.ones((1, 1))
    batch = Batch(torch.from_numpy(x)[None], torch.from_numpy(y)[None], torch.zeros((1, 1)), one, task=task)
    return with_one, BatchedTrainer(model).gradient(theta[None], batch, LocalLoss())[0]


def _clipped_gradients(bench: Bench) -> Tensor:
    """Of the site's own records at the start, [n, P]; of no more than there are clones, which take as much memory."""
    x, y = (torch.from_numpy(part[: bench.trainings]) for part in (bench.rows.X, bench.rows.y))
    count = len(y)
    batch = Batch(x[:, None], y[:, None], torch.zeros((count, 1)), torch.ones((count, 1)), task=bench.task)
    found = BatchedTrainer(bench.undrawn).gradient(bench.theta.expand(count, -1), batch, LocalLoss())
    length: Tensor = torch.linalg.vector_norm(found, dim=1, keepdim=True)
    return found * (bench.terms.clip / length.clamp(min=bench.terms.clip))


def set_apart(gradient: Tensor, others: Tensor, clip: float) -> Tensor:
    """Where the canary pulls and the others do not. Which of them are drawn moves a model too, and would hide from the
    observer that noise is missing. A ridge of one record's share keeps a direction where they pull everywhere.

        d = (A^T A + lambda I)^-1 g, up to length, with the others' clipped gradients as rows of A (Fisher 1936)
    """
    ridge = clip**2 / len(others)
    inner = others @ others.T + ridge * torch.eye(len(others))
    shared: Tensor = torch.linalg.solve(inner, others @ gradient)
    return gradient - others.T @ shared


def _most_wrong(task: Task, outputs: Tensor, own: Rows) -> Array:
    """The label that an answer [1, K] is furthest from: the least likely class, or of other labels all columns' least
    or greatest."""
    if task.labels == "class":
        return np.asarray(outputs.argmin(1).numpy())
    ends = np.stack([own.y.min(0), own.y.max(0)])
    losses = task.losses(outputs.expand(1, 2, -1), torch.from_numpy(ends)[None])[0]
    return np.asarray(ends[[int(losses.argmax())]])


def clones_of(rows: Rows, count: int, model: Model, task: Task) -> Shard:
    """A shard of ``count`` sites that all have these rows; each drops what it drops by itself."""
    keys = torch.arange(count) if model.draws else None
    return Shard(torch.from_numpy(rows.X), torch.from_numpy(rows.y), (0,) * count, (len(rows),) * count, keys, task)


def _moved(bench: Bench, rows: Rows, purpose: Purpose, direction: Tensor) -> Floats:
    """How far each clone's training went down along ``direction``."""
    count = bench.trainings
    shard = clones_of(rows, count, bench.model, bench.task)
    theta = bench.theta.expand(count, -1)
    after = bench.clones(len(rows) - len(bench.rows), count).train(
        theta, bench.model, shard, LocalLoss(), purpose, Pace(_RATE)
    )
    return ((bench.theta - after) @ direction).double().numpy()


def distinguished(without: Floats, with_one: Floats, delta: float) -> float:
    """A lower bound on epsilon from how well a threshold tells two samples apart.

    The threshold and its direction are chosen on the first half of either sample and judged on the second, by
    Clopper-Pearson limits on both error rates.
    """
    half = len(without) // 2
    sign, threshold = _best_threshold(without[:half], with_one[:half])
    trials = len(without) - half
    true, false = (_caught(sign * sample[half:], np.array([sign * threshold])) for sample in (with_one, without))
    ways = _log_ratio(true, false, trials, delta), _log_ratio(trials - false, trials - true, trials, delta)
    return max(0.0, *(float(way[0]) for way in ways))


def _best_threshold(without: Floats, with_one: Floats) -> tuple[int, float]:
    sign = 1 if with_one.mean() >= without.mean() else -1
    edges = np.unique(np.concatenate([without, with_one]))
    middles = (edges[1:] + edges[:-1]) / 2 if len(edges) > 1 else edges
    true, false = (_caught(sign * sample, sign * middles) for sample in (with_one, without))
    return sign, float(middles[np.argmax(_log_ratio(true, false, len(without), 0.0))])


def _caught(sample: Floats, thresholds: Floats) -> Floats:
    return np.asarray(len(sample) - np.searchsorted(np.sort(sample), thresholds, side="left"), dtype=np.float64)


def _log_ratio(true: Floats, false: Floats, trials: int, delta: float) -> Floats:
    """log((TPR - delta) / FPR) with both rates at the unfavourable end of their limits (Clopper and Pearson 1934)."""
    error = (1 - CONFIDENCE) / 4  # two limits in each of two directions
    least = np.where(true > 0, beta.ppf(error, np.maximum(true, 1), trials - true + 1), 0.0)
    most = np.where(false < trials, beta.ppf(1 - error, false + 1, np.maximum(trials - false, 1)), 1.0)
    return np.asarray(np.log(np.maximum(least - delta, 1e-300) / most))
