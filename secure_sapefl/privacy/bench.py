"""A private step against a plain one, by mode, in one run: what record-by-record clipping and noise cost."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final, get_args

import numpy as np
import torch
from torch import Tensor

from secure_sapefl.models.base import Model
from secure_sapefl.models.stacked import build_model
from secure_sapefl.privacy.randomness import KeyedRandomness, Randomness, SecureRandomness
from secure_sapefl.privacy.reference import Mode, OpacusSite
from secure_sapefl.privacy.trainer import PrivateTrainer, SiteNoise
from secure_sapefl.training.objective import Batch, LocalLoss
from secure_sapefl.training.plan import Plan, Shard
from secure_sapefl.training.trainer import BatchedTrainer, Trainer

SETTINGS: Final = {
    "paper's MLP": ((561,), 6, "paper"),
    "small MLP": ((561,), 6, "small"),
    "paper's CNN": ((1, 28, 28), 10, "paper"),
}
GOAL: Final = 6.0  # the most our step may cost, in plain steps of the paper's MLP
_CLIP, _NOISE, _LR = 1.0, 1.0, 0.05
_STEPS: Final = 5  # at a time, so that setting up does not count

Steps = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    model: str
    parameters: int
    mode: str
    milliseconds: float
    ratio: float  # to the plain step of the same model


def step_costs(batch_size: int, repeats: int, tell: Callable[[str], None]) -> Iterator[StepCost]:
    """The modes take turns, so that a busy moment of the machine hits all of them; the median of each counts."""
    for name, (shape, classes, preset) in SETTINGS.items():
        tell(f"{name}, batch {batch_size} ...")
        model = build_model(shape, classes, preset)  # type: ignore[arg-type]
        modes = _modes(model, shape, batch_size)
        seconds: dict[str, list[float]] = {mode: [] for mode in modes}
        for turn in range(repeats + 1):
            for mode, steps in modes.items():
                start = time.perf_counter()
                steps()
                if turn:  # the first warms up
                    seconds[mode].append(time.perf_counter() - start)
        plain = median(seconds["plain"]) / _STEPS
        for mode, found in seconds.items():
            cost = median(found) / _STEPS
            yield StepCost(
                model=name, parameters=model.parameters, mode=mode, milliseconds=1e3 * cost, ratio=cost / plain
            )


def _modes(model: Model, shape: tuple[int, ...], batch_size: int) -> dict[str, Steps]:
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn((batch_size, *shape), generator=rng), torch.randint(model.classes, (batch_size,), generator=rng)
    rows = torch.arange(batch_size)[None]
    weight = torch.full((1, batch_size), 1 / batch_size)
    shard, plan = (
        Shard(x, y, (0,), (batch_size,)),
        Plan(rows.repeat(_STEPS, 1, 1), weight.repeat(_STEPS, 1, 1), (1,) * _STEPS),
    )
    theta = model.initial(np.random.default_rng(0))[None]
    modes: dict[str, Steps] = {"plain": _trained(BatchedTrainer(model), theta, shard, plan)}
    for name in get_args(Mode):
        modes[f"Opacus {name}"] = _through_opacus(model, theta[0], name, Batch(x[None], y[None], rows, weight))
    sources: dict[str, Randomness] = {
        "ours": KeyedRandomness(np.random.default_rng(0)),
        "ours, secure noise": SecureRandomness(),
    }
    for name, source in sources.items():
        private = PrivateTrainer(model, _CLIP, (SiteNoise(_NOISE * _CLIP / batch_size, source),))
        modes[name] = _trained(private, theta, shard, plan)
    return modes


def _trained(trainer: Trainer | PrivateTrainer, theta: Tensor, shard: Shard, plan: Plan) -> Steps:
    return lambda: trainer.train(theta, shard, plan, LocalLoss(), _LR)


def _through_opacus(model: Model, theta: Tensor, mode: Mode, batch: Batch) -> Steps:
    site = OpacusSite(model, theta, mode, clip=_CLIP, noise=_NOISE, expected_batch=len(batch.y[0]), lr=_LR)

    def steps() -> None:
        for _ in range(_STEPS):
            site.step(batch, LocalLoss())

    return steps
