"""Steps and learning rates as a configuration has them, and what optimizers remember from round to round."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from secure_sapefl.config import Config
from secure_sapefl.streams import Purpose
from secure_sapefl.training.optimizer import Moments, StepRule
from secure_sapefl.training.schedule import Schedule

_PARTS: Final = ("first", "second", "steps")
_PREFIX: Final = "optimizer"


def step_rule(config: Config) -> StepRule:
    return StepRule(
        name=config.optimizer,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        max_norm=config.max_grad_norm,
    )


def schedule_of(config: Config) -> Schedule:
    return Schedule(name=config.schedule, lr=config.lr, rounds=config.rounds, warmup=config.warmup_rounds)


class OptimizerMemory:
    """Of all sites, a row each, in main memory; a training that nobody has begun yet is not in it."""

    def __init__(self, sites: int) -> None:
        self._sites, self._kept = sites, dict[Purpose, Moments]()

    def recalled(self, sites: Sequence[int], device: torch.device) -> dict[Purpose, Moments]:
        """Copies of some sites' rows, to be gone on with."""
        rows = list(sites)
        return {
            purpose: Moments(*(getattr(kept, part)[rows].to(device) for part in _PARTS))
            for purpose, kept in self._kept.items()
        }

    def keep(self, rows: Tensor, healthy: Tensor, memory: Mapping[Purpose, Moments]) -> None:
        """What a group remembers now, of the sites whose round went well."""
        for purpose, moments in memory.items():
            kept = self._kept.setdefault(purpose, Moments.none_yet(torch.zeros(self._sites, moments.first.shape[1])))
            for part in _PARTS:
                getattr(kept, part)[rows] = getattr(moments, part).cpu()[healthy]

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {
            f"{_PREFIX} {purpose.name} {part}": getattr(kept, part)
            for purpose, kept in self._kept.items()
            for part in _PARTS
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take what is its own out of a checkpoint's tensors."""
        for purpose in sorted(set(_purposes(tensors))):
            self._kept[purpose] = Moments(*(tensors.pop(f"{_PREFIX} {purpose.name} {part}") for part in _PARTS))


def _purposes(tensors: Mapping[str, Tensor]) -> Iterator[Purpose]:
    for name in tensors:
        if name.startswith(f"{_PREFIX} "):
            yield Purpose[name.split(" ")[1]]
