"""What clipping the records of a module costs, with every record's gradient formed and by ghost clipping, in one run.

Which of the two a model is given is decided by its layers alone (`modules/ghost.py`); here it shows whether that rule
is right.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import process_time
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.models.base import Description
from secure_sapefl.models.module import ModuleModel
from secure_sapefl.models.presets import Choice, made
from secure_sapefl.own_code import own_function
from secure_sapefl.privacy.modules.ghost import GhostRecords, ghost
from secure_sapefl.privacy.modules.records import formed_gradients
from secure_sapefl.privacy.per_record import clipped
from secure_sapefl.privacy.record_gradients import RecordGradients
from secure_sapefl.training.objective import Batch, LocalLoss


class Residual(nn.Module):
    def __init__(self, about: Description, width: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(about.shape[0], width), nn.LayerNorm(width)
        self.second, self.fc = nn.Linear(width, width), nn.Linear(width, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.relu(self.norm(self.first(x)))
        answer: Tensor = self.fc(wide + torch.relu(self.second(wide)))
        return answer


def _own(width: int) -> Choice:
    return Choice(name="own", build=own_function(lambda about: Residual(about, width)))


MODULES: Final[Mapping[str, tuple[Choice, tuple[int, ...]]]] = {
    "own residual MLP, 64 wide": (_own(64), (40,)),
    "own residual MLP, 256 wide": (_own(256), (561,)),
    "table": (Choice(name="table"), (40,)),
    "resnet": (Choice(name="resnet"), (3, 28, 28)),
    "lstm": (Choice(name="lstm"), (128, 9)),
}
_CLASSES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippingCost:
    model: str
    parameters: int
    formed_milliseconds: float
    ghost_milliseconds: float
    used: str  # by our rule

    @property
    def ratio(self) -> float:
        return self.ghost_milliseconds / self.formed_milliseconds

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


def clipping_costs(batch_size: int, repeats: int, tell: Callable[[str], None]) -> Iterator[ClippingCost]:
    """Both ways in turns; the median of each, in time of the processor, which others on the machine lengthen less."""
    for name, (choice, shape) in MODULES.items():
        tell(f"{name}, batch {batch_size} ...")
        model = made(choice, Description(shape, _CLASSES), np.random.default_rng(0)).model
        if not isinstance(model, ModuleModel):
            raise TypeError(f"{name} is recognised as a built-in network")
        ways = _ways(model, shape, batch_size)
        turns = [[_milliseconds(way) for way in ways] for _ in range(repeats + 1)][1:]  # the first warms up
        formed, by_norms = (median(found) for found in zip(*turns, strict=True))
        yield ClippingCost(
            model=name,
            parameters=model.parameters,
            formed_milliseconds=formed,
            ghost_milliseconds=by_norms,
            used="formed" if ghost(model) is None else "ghost",
        )


def _ways(model: ModuleModel, shape: tuple[int, ...], count: int) -> tuple[Callable[[], object], ...]:
    random = torch.Generator().manual_seed(0)
    x, y = torch.rand((1, count, *shape), generator=random), torch.randint(_CLASSES, (1, count), generator=random)
    keys = torch.zeros(1, dtype=torch.int64) if model.draws else None
    batch = Batch(x, y, torch.arange(count)[None], torch.full((1, count), 1 / count), keys)
    weights, ghosts = model.views(model.initial(np.random.default_rng(0))[None]), GhostRecords(model)

    def by_norms() -> Sequence[RecordGradients]:
        own = [weight[0] for weight in weights]
        return [ghosts(own, x[0], None if keys is None else keys[0], lambda answers: answers.softmax(1).detach())]

    def summed(gradients: Callable[[], Sequence[RecordGradients]]) -> Callable[[], object]:
        return lambda: clipped(gradients(), batch.weight, 1.0)

    return summed(lambda: formed_gradients(model, weights, batch, LocalLoss())), summed(by_norms)


def _milliseconds(way: Callable[[], object]) -> float:
    begun = process_time()
    way()
    return 1e3 * (process_time() - begun)
