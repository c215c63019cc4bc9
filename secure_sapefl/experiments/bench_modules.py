"""What a module of one's own costs beside the built-in network of the same layers.

All three train the small MLP's layers for all sites at once. The plain module is a straight line, which is recognised
and runs as the built-in network does; a residual connection is beyond that, and goes through `torch.func`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from secure_sapefl.experiments.bench_simulate import SMALL, Setting, Tell, train_seconds
from secure_sapefl.models.base import Description
from secure_sapefl.models.presets import Choice, made
from secure_sapefl.own_code import own_function
from secure_sapefl.training.trainer import BatchedTrainer


class Plain(nn.Module):
    def __init__(self, about: Description) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(about.shape[0], 128), nn.Linear(128, 64)
        self.fc = nn.Linear(64, about.outputs)

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.fc(torch.relu(self.second(torch.relu(self.first(x)))))
        return answer


class Residual(Plain):
    """The same layers; half of what the first one found also goes around the second."""

    def forward(self, x: Tensor) -> Tensor:
        wide = torch.relu(self.first(x))
        answer: Tensor = self.fc(torch.relu(self.second(wide)) + wide[..., :64])
        return answer


CHOICES: Mapping[str, Choice] = {
    "built-in": Choice(name="small"),
    "own, a straight line": Choice(name="own", build=own_function(Plain)),
    "own, with a residual": Choice(name="own", build=own_function(Residual)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRow:
    model: str
    parameters: int
    seconds: float
    built_in_seconds: float

    @property
    def ratio(self) -> float:
        """To the built-in network; 1.3 is what a module of one's own may cost."""
        return self.seconds / self.built_in_seconds


def modules(tell: Tell, repeats: int = 25, setting: Setting = SMALL) -> list[ModuleRow]:
    """One epoch of plain local training of all sites, the median of ``repeats`` taken in turns; seconds of the
    processor, which others on the machine lengthen less."""
    tell(f"training {setting.clients} sites, {setting.name}: built-in and as modules of one's own in turns")
    about = Description((setting.features,), setting.classes)
    models = {name: made(choice, about, np.random.default_rng(0)).model for name, choice in CHOICES.items()}
    trainers = [BatchedTrainer(model) for model in models.values()]
    turns = [[train_seconds(trainer, setting, process_time) for trainer in trainers] for _ in range(repeats)]
    seconds = np.median(turns, axis=0)
    return [
        ModuleRow(model=name, parameters=model.parameters, seconds=float(took), built_in_seconds=float(seconds[0]))
        for (name, model), took in zip(models.items(), seconds, strict=True)
    ]


def to_json(rows: list[ModuleRow]) -> dict[str, Any]:
    return {"modules": [{**asdict(row), "ratio": row.ratio} for row in rows]}
