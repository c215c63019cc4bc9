"""What the SAPE-FL paper published: context for our numbers, not targets.

Its tables disagree with each other where they repeat a setting, and its synthetic accuracies exceed what 40 % redrawn
labels allow.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from secure_sapefl.experiments.statistics import Estimate

Metric = Literal["accuracy", "auc"]
Ablation = Literal["influence", "kappa", "threshold"]

PROTOCOL: Final = (
    "The paper: 100 sites, 70 % of them a round, Dirichlet 0.3, 200 rounds (threshold: 100), 5 seeds; it states "
    "neither epochs, batch size, learning rate nor the settings of the other methods. Its numbers are context, not "
    "targets."
)

PARTITION: Final = "dirichlet"
"""How the paper divides every dataset, also those that have groups of their own."""


def published(metric: Metric, dataset: str, method: str) -> Estimate | None:
    return _estimate(_tables()[metric].get(dataset, {}).get(method))


def published_ablation(name: Ablation, dataset: str, value: float) -> Estimate | None:
    return _estimate(_tables()[name].get(dataset, {}).get(f"{value:g}"))


def datasets() -> tuple[str, ...]:
    """The eight of the main tables."""
    return tuple(_tables()["accuracy"])


def ablation_datasets(name: Ablation) -> tuple[str, ...]:
    return tuple(_tables()[name])


def ablation_values(name: Ablation) -> tuple[float, ...]:
    return tuple(float(value) for value in next(iter(_tables()[name].values())))


def _estimate(percent: list[float] | None) -> Estimate | None:
    return None if percent is None else Estimate(percent[0] / 100, percent[1] / 100)


@cache
def _tables() -> dict[str, Any]:
    text = files("secure_sapefl.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
